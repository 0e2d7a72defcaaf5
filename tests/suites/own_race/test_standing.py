"""What is said of records that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.suites.own_race.standing import result
from fedbench.suites.race import decisions
from tests.conftest import alter

from .conftest import given
from .test_stages import ROWS, add, stages


def test_what_is_said_rests_on_the_seeds_that_all_rows_have(tmp_path: Path) -> None:
    one = stages(tmp_path)
    add(one, dict(zip(ROWS, (7, 5, 6), strict=True)))
    (system,) = result(given(*ROWS), one).systems
    assert system.seeds == 5
    assert [best.row for best in system.best["seconds"]] == [ROWS[0]]
    assert decisions.read(tmp_path, one.final, None).points == {}, "nothing was decided"
    add(one, {ROWS[1]: 2})
    for spec in one.suite.runs(one.suite.here, ROWS[1])[2:]:
        one._records.pop(spec.run_id, None)
    (early,) = result(given(*ROWS), one).systems
    assert early.unknown == "after 2 seeds, and 3 are the fewest that tell rows apart"
    assert early.best == {}


def test_what_the_next_look_takes_and_shows(tmp_path: Path) -> None:
    """Rows have four seeds, none of which is in the store, so that the next look is that after
    three: of the two rows that are left, a minute a run."""
    one = stages(tmp_path)
    add(one, dict.fromkeys(ROWS, 4))
    found = result(given(*ROWS), one)
    (system,) = found.systems
    assert system.next is not None
    assert system.next.seeds == 3
    assert system.resolution is not None
    assert system.next.resolution is not None
    assert system.next.resolution > system.resolution > 1, "three seeds show less than four"
    assert system.next.minutes == pytest.approx(6.0, rel=0.01)


def test_a_row_that_is_left_and_in_no_set_has_its_reason(tmp_path: Path) -> None:
    one = stages(tmp_path)
    add(one, dict.fromkeys(ROWS, 4))
    for spec in one.suite.runs(one.suite.here, ROWS[1])[1:4]:  # the first would drop it as far behind
        alter(one._records[spec.run_id], "outcome.state", "diverged")
    found = result(given(*ROWS), one)
    (system,) = found.systems
    assert system.unranked[ROWS[1]] == "3 of 4 runs diverged"
    assert not {best.row for several in system.best.values() for best in several} & system.unranked.keys()
    assert f"{ROWS[1]} (3 of 4 runs diverged)" in str(found)
