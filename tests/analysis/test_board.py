"""The board of a scenario: times to the targets, classes, fronts, and what the seeds can show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fedbench.analysis.board import Board, board, times
from fedbench.analysis.profiles import Problem
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import Record
from tests.conftest import BUDGET, TARGET, record

SEEDS = 10
SCATTER = (0.0, 0.5, 1.0, 0.25, 0.75, 0.1, 0.6, 0.9, 0.3, 0.4)


def row(name: str, mean: float | None, bytes_: float = 1000, **more: Any) -> list[Record]:
    """One run a seed that reaches the target about `mean` seconds from the start, or never."""
    runs = []
    for seed in range(SEEDS):
        at = BUDGET / 2 if mean is None else mean + SCATTER[seed]
        curve = (0.1, 0.5, 0.6) if mean is None else (0.1, TARGET, 0.9)
        runs.append(record(name, seed, curve, seconds=(0, at, BUDGET), columns={"bytes": (0, bytes_, 9000)}, **more))
    return runs


def of(**rows: Sequence[Record]) -> Board:
    return board(rows)


def test_rows_are_in_the_order_of_their_times() -> None:
    found = of(late=row("late", 12), early=row("early", 4), never=row("never", None))
    assert [one.row for one in found.standings] == ["early", "late", "never"]
    assert [one.place for one in found.standings] == [0, 1, 2]
    early, _, never = found.standings
    assert early.seconds[1] == 4.5
    assert early.mean.mean == pytest.approx(4 + sum(SCATTER) / SEEDS)
    assert set(never.seconds.values()) == {BUDGET}, "a miss counts with the budget"
    assert [one.solved for one in found.standings] == [1, 1, 0]
    assert [one.row for one in found.first] == ["early"]


def test_what_seeds_cannot_tell_apart_is_first_together() -> None:
    found = of(a=row("a", 4), b=list(reversed(row("b", 4.2))), c=row("c", 15))
    assert [one.row for one in found.first] == ["a", "b"]
    assert found.resolution is not None
    assert found.resolution >= 1.0, "no difference below a step of the grid is shown"


def test_a_row_that_scatters_is_first_though_its_class_has_ended() -> None:
    """B is told from A, and C, later than B, is not."""
    a, b, c = row("a", 4), row("b", 8), row("c", 4)
    c[0], c[1] = row("c", None)[0], row("c", None)[1]
    for run in c[2:]:
        run.curves["seconds"][1] += 1.5
    found = of(a=a, b=b, c=c)
    assert [one.row for one in found.standings] == ["a", "c", "b"] or [one.row for one in found.standings] == ["a", "b", "c"]
    assert [one.row for one in found.first] == ["a", "c"]


def test_nobody_is_first_where_nobody_arrives() -> None:
    found = of(a=row("a", None), b=row("b", None))
    assert found.first == ()
    assert {one.place for one in found.standings} == {0}


def test_a_run_that_does_not_finish_has_reached_nothing() -> None:
    found = of(a=row("a", 4, state="diverged"), b=row("b", 12))
    first, last = found.standings
    assert (first.row, last.row, last.unfinished, last.solved) == ("b", "a", SEEDS, 0)


def test_the_mean_is_over_all_targets() -> None:
    runs = row("a", 4)
    for run in runs:
        run.meta["spec"]["scenario"]["targets"].append({"metric": "test_accuracy", "value": 0.95})
    (found,) = of(a=runs).standings
    assert found.seconds[0] == (4 + BUDGET) / 2
    assert [arrival.hits for arrival in found.arrivals] == [SEEDS, 0]
    assert found.solved == 0.5
    assert [arrival.median for arrival in found.arrivals] == [4.4, None]
    assert times({"slow_tail": of(a=runs)}, "a").seconds[Problem("slow_tail", 0.95)] == [float("inf")] * SEEDS


def test_a_reference_is_shown_and_not_ranked() -> None:
    found = board({"pooled": row("pooled", 2), "a": row("a", 4)}, references=frozenset({"pooled"}))
    assert [(one.row, one.place) for one in found.standings] == [("pooled", None), ("a", 0)]
    assert [one.row for one in found.first] == ["a"]
    assert found.front(TARGET) == ["a"]


def test_the_front_is_of_seconds_and_bytes() -> None:
    found = of(fast=row("fast", 4, 3000), thrifty=row("thrifty", 12, 1000), bad=row("bad", 13, 3000), never=row("never", None, 1))
    assert found.front(TARGET) == ["fast", "thrifty"]


def test_an_entrant_moves_no_place_of_others_times() -> None:
    """Times and shares are of a row's own runs. Classes are of a board: more entrants make its
    intervals wider."""
    few = of(a=row("a", 4), b=row("b", 12))
    more = of(a=row("a", 4), b=row("b", 12), c=row("c", 1))
    for name in ("a", "b"):
        assert (one := few.of(name)) is not None
        assert (other := more.of(name)) is not None
        assert (one.seconds, one.arrivals, one.mean) == (other.seconds, other.arrivals, other.mean)


def test_what_is_no_board() -> None:
    with pytest.raises(RecordError, match="rows with runs of one scenario, got 2 rows of 2 scenarios"):
        of(a=row("a", 4), b=row("b", 4, scenario_hash="beef"))
    with pytest.raises(RecordError, match="got 1 rows of 0 scenarios"):
        of(a=[])
    runs = row("a", 4)
    for run in runs:
        run.meta["spec"]["scenario"]["targets"] = []
    with pytest.raises(UsageError, match="no targets"):
        of(a=runs)
