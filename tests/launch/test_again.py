"""Records are computed again, here or side by side, and counted by what became of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fedbench.launch.again import told, verify_all
from fedbench.launch.runner import run
from fedbench.results.record import Record
from tests.conftest import alter
from tests.suites.own_race.conftest import MINE

SMALL = ["clients=6", "budget.seconds=1", "local.steps=1", "task.model=softmax"]


@pytest.fixture(name="records")
def _records() -> list[Record]:
    """One as it was made, one with another digest, and one whose specification is of no
    algorithm."""
    same, other, unknown = run("digits-demo", "fedavg[cohort_size=2]", seeds=3, overrides=SMALL)
    alter(other, "digests.model", "0" * 32)
    alter(unknown, "spec.algorithm.name", "fedavh")
    return [same, other, unknown]


@pytest.mark.parametrize("processes", [1, 2])
def test_each_verdict_is_counted_and_all_but_identical_are_told(records: list[Record], processes: int) -> None:
    lines: list[str] = []
    counts = verify_all(records, processes=processes, say=lines.append)
    assert counts == Counter({"identical": 1, "differs": 1, "not verified": 1})
    _, other, unknown = (f"fedavg[cohort_size=2] seed {one.seed} on digits-demo ({one.run_id}): " for one in records)
    assert sorted(lines) == [
        f"{other}differs, first in digests.model",
        f"{unknown}not verified: unknown algorithm 'fedavh'; did you mean 'fedavg'?",
    ]


def test_a_long_verification_counts_on_the_way(records: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedbench.launch.again.REPORT_EVERY", 0.0)
    lines: list[str] = []
    verify_all(records[:1] * 2, processes=1, say=lines.append)
    assert lines == ["1 of 2: 1 identical", "2 of 2: 2 identical"]


def test_counts_in_words() -> None:
    assert told(Counter({"differs": 2, "identical": 1200})) == "1,200 identical, 2 differs"


def test_an_algorithm_in_a_file_is_run_where_the_file_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    records = list(run("digits-demo", ["./mine.py:Mine[cohort_size=2]", "fedavg[cohort_size=2]"], seeds=1, overrides=SMALL))
    lines: list[str] = []
    assert verify_all(records, processes=1, say=lines.append) == Counter({"identical": 1, "not verified": 1})
    assert "no file is run because a record names it" in lines[0]
    assert verify_all(records, processes=1, say=lines.append, files={"mine": "./mine.py:Mine"}) == Counter({"identical": 2})
