"""Findings of a race: rows with different numbers of seeds are never averaged together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fedbench.errors import UsageError
from fedbench.suites.findings import numbers
from fedbench.suites.findings.page import page
from fedbench.suites.findings.reference import reference_for, reference_of
from fedbench.suites.findings.results import Results
from fedbench.suites.race import decisions
from fedbench.suites.race.decisions import Judged
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import TUNED
from tests.suites.findings import made_up

LOOKS = [{"seeds": 3, "level": 0.02}, {"seeds": 10, "level": 0.03}]
SECONDS = {"fedavg": 4.0, "fedbuff": 5.0, "fedasync": 9.0}
REASON = {"axis": "seconds", "rule": "touch", "rival": "fedavg", "at_least": 1.5}
POINTS = ("calm", "rough")


def suite() -> Suite:
    content = made_up.suite(algorithms=tuple(SECONDS)).model_dump(by_alias=True)
    return Suite.model_validate({**content, "race": {"looks": LOOKS}})


def judged(look: int, kind: str, rows: tuple[str, ...], dropped: tuple[str, ...] = ()) -> Judged:
    names, out = tuple(row + kind for row in rows), {row + kind: REASON for row in dropped}
    content = {"group": f"made up{kind}", "look": LOOKS[look], "compared": names, "dropped": out, "digest": "0" * 32}
    return Judged.model_validate(content)


def raced() -> Results:
    """At one point FedAsync is dropped and the others go on; at the other one FedAvg alone is left
    after three seeds. With default options nobody is dropped."""
    every = tuple(SECONDS)
    default = (judged(0, "", every), judged(1, "", every))
    calm = (judged(0, TUNED, every, ("fedasync",)), judged(1, TUNED, every[:2]))
    rough = (judged(0, TUNED, every, ("fedasync", "fedbuff")),)
    of = suite()
    all_runs = made_up.results(dict.fromkeys(POINTS, SECONDS), dict.fromkeys(POINTS, SECONDS), of)
    found = decisions.nothing(of, None).with_more({"calm": (*default, *calm), "rough": (*default, *rough)})
    return replace(all_runs, race=found)


def test_rows_are_compared_with_the_seeds_of_the_last_look_at_their_group() -> None:
    found = raced().complete(tuned=True)
    assert {row: len(runs) for row, runs in found["calm"].items()} == {"fedavg": 10, "fedbuff": 10}
    assert {row: len(runs) for row, runs in found["rough"].items()} == dict.fromkeys(SECONDS, 3)
    assert {len(runs) for runs in raced().complete(tuned=False)["rough"].values()} == {10}
    assert raced().absent == {"dropped from the race after 3 seeds": ["fedasync (tuned) at calm"]}


def test_a_suite_of_tuned_rows_lacks_no_others() -> None:
    one = raced()
    content = {**one.suite.model_dump(by_alias=True), "rows": "tuned"}
    seats = {point: {row: runs for row, runs in rows.items() if row.endswith(TUNED)} for point, rows in one.seats.items()}
    tuned = replace(one, suite=Suite.model_validate(content), seats=seats)
    assert tuned.absent == {"dropped from the race after 3 seeds": ["fedasync at calm"]}


def test_points_with_different_numbers_of_seeds_have_no_average() -> None:
    results = raced()
    (kind,) = results.systems
    tuned, default = (numbers.rankings(results, kind, tuned=is_tuned) for is_tuned in (True, False))
    assert {point: len(one.found.costs.seeds) for point, one in tuned.items() if one.found} == {"calm": 10, "rough": 3}
    assert numbers.always(tuned) == []
    assert len(numbers.always(default)) == 3


def test_a_row_with_default_options_is_compared_at_common_seeds() -> None:
    """Both have the same runs here: ten seeds at one point, three at the other."""
    results = raced()
    assert numbers.default_over_tuned(results, "fedavg") == {}, "a mean over both would be of unequal numbers"
    assert results.race is not None
    rough = {point: several for point, several in results.race.points.items() if point == "rough"}
    one = replace(results, race=results.race.model_copy(update={"points": rough}))
    assert numbers.default_over_tuned(one, "fedavg") == {"rough": 1.0}


def test_a_race_has_no_reference_times() -> None:
    results = raced()
    assert reference_for(results) is None
    with pytest.raises(UsageError, match="a race has none, its rows have different numbers of seeds"):
        reference_of(results)
    text = page([results], "made up")
    assert "3 to 10 seeds a row" in text
    assert "How sure this is: with" not in text
