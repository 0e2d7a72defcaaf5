"""Two rows, in true words."""

from __future__ import annotations

import pytest

from fedbench.analysis.board import Board, board
from fedbench.analysis.groups import Group
from fedbench.analysis.pairing import Pairing, findings, pairing
from fedbench.results.record import Record
from tests.analysis.runs_made_up import SCATTER, arriving, row
from tests.conftest import alter

TEN, ALL = Group(10, 100), Group(100, 100)
Rows = dict[str, list[Record]]


def sentences(one: Pairing, first: str, second: str) -> list[str]:
    return [found.sentence for found in findings(one, first, second)]


def compared(rows: Rows, first: str, second: str, groups: dict[str, Group] | None = None) -> tuple[Pairing, Board]:
    found = board(rows, groups=groups or dict.fromkeys(rows, TEN))
    return pairing("demo", rows, found, first, second), found


def test_the_answer_is_that_of_the_board() -> None:
    """One question has one answer: the line for all targets is the pair of the ranking."""
    rows = {"fedavg": row("fedavg", 8), "fedprox": row("fedprox", 4), "fednova": row("fednova", 6)}
    one, found = compared(rows, "fedavg", "fedprox")
    line = one.lines[0]
    assert (line.target, line.verdict, line.pairs) == (None, "second", 3)
    assert line.ratio == found.ranking(TEN).pair("fedavg", "fedprox")
    assert line.together.low < line.ratio.low < line.ratio.value < line.ratio.high < line.together.high
    (text, accuracy) = sentences(one, "A", "B")  # the only target is all targets
    assert text.startswith("demo, 80 %: A 8.47 s, B 4.47 s: B costs less; A / B = 1.90 [1.")
    assert "; among all 3 pairs of the board [1." in text
    assert accuracy.startswith("demo, accuracy at 20 s: A minus B is +0.00 percentage points, +0.00 to +0.00 (10 seeds)")


def test_a_tie_is_never_no_difference() -> None:
    other = [arriving("fedprox", seed, 4.05 + late) for seed, late in enumerate(reversed(SCATTER))]
    one, _ = compared({"fedavg": row("fedavg", 4), "fedprox": other}, "fedavg", "fedprox")
    text = sentences(one, "A", "B")[0]
    assert "cannot be told apart; A / B = 0.99 [0." in text
    assert "among all" not in text, "two rows are one pair"
    assert "no difference" not in text


def test_misses_are_told_as_bounds() -> None:
    late = row("fedprox", 8)
    late[3] = arriving("fedprox", 3, None)
    one, _ = compared({"fedavg": row("fedavg", 5), "fedprox": late}, "fedavg", "fedprox")
    text = sentences(one, "A", "B")[0]
    assert "B ≥ 9.26 s with 1 of 10 missing: A costs less; A / B ≤ 0.59 [0.00, 0." in text
    never, _ = compared({"fedavg": row("fedavg", None), "fedprox": row("fedprox", None)}, "fedavg", "fedprox")
    assert sentences(never, "A", "B")[0] == "demo, 80 %: neither arrives"


def test_rows_of_two_systems_are_told_as_that() -> None:
    rows = {"fedavg": row("fedavg", 8), "asysg": row("asysg", 4)}
    one, _ = compared(rows, "fedavg", "asysg", {"fedavg": TEN, "asysg": ALL})
    told = sentences(one, "A", "B")
    assert told[0].startswith("demo: no board has both: A has 10 of 100 clients at work, B all 100 clients at work.")
    assert "B costs less" in told[1]


def test_two_seeds_say_nothing() -> None:
    one, _ = compared({"fedavg": row("fedavg", 8, seeds=2), "fedprox": row("fedprox", 4, seeds=2)}, "fedavg", "fedprox")
    assert "2 common seeds say nothing about a difference, at least 3 do" in sentences(one, "A", "B")[0]
    assert one.lines[0].verdict == "tied"


def test_a_target_without_a_verdict_is_shown() -> None:
    rows = {"fedavg": row("fedavg", 8), "fedprox": row("fedprox", 4)}
    for runs in rows.values():
        for run in runs:
            alter(run, "spec.scenario.evaluation.every_seconds", 1.0)
    one, _ = compared(rows, "fedavg", "fedprox")
    assert [line.target for line in one.lines] == [0.8]
    told = sentences(one, "A", "B")
    why = "held before any training, or within ten steps of the evaluation grid"
    assert told[0].startswith(f"demo: no target gets a verdict: each is {why}")
    assert told[0].endswith("with --set evaluation.kind=log --set evaluation.first_seconds=0.1 --set evaluation.ratio=1.05")
    assert told[1].endswith(f"; no verdict, it is {why}")
    assert "=" not in told[1]  # no ratio of two steps of the grid


def test_accuracies_are_compared_where_all_still_are() -> None:
    rows = {"fedavg": row("fedavg", 8), "fedprox": row("fedprox", 4)}
    for seed, run in enumerate(rows["fedprox"]):
        run.curves["test_accuracy"][-1] = 0.88 + 0.001 * (seed % 3)
    one, _ = compared(rows, "fedavg", "fedprox")
    assert one.accuracy is not None
    assert one.accuracy.mean == pytest.approx(0.0191, abs=1e-4)
    alter(rows["fedprox"][0], "outcome.state", "diverged")
    one, _ = compared(rows, "fedavg", "fedprox")
    assert one.accuracy is None
    assert sentences(one, "A", "B")[-1] == "demo, accuracy: not compared (fedprox: 1 of 10 seeds diverged)"
