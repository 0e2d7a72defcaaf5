"""The board of a scenario: groups, costs, the set of the best, and what becomes of every target."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from fedbench.analysis.board import Board, board, boards, times
from fedbench.analysis.groups import Group
from fedbench.analysis.profiles import Problem
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import Record
from tests.analysis.runs_made_up import SCATTER, SEEDS, arriving, row
from tests.conftest import BUDGET, TARGET, alter

TEN, ALL = Group(10, 100), Group(100, 100)


def of(**rows: Sequence[Record]) -> Board:
    return board(rows, groups={name: ALL if name.startswith("all") else TEN for name in rows})


def test_rows_are_in_the_order_of_their_costs() -> None:
    found = of(late=row("late", 12), early=row("early", 4), never=row("never", None))
    assert [one.row for one in found.standings] == ["early", "late", "never"]
    early, _, never = found.standings
    assert early.cost == pytest.approx(math.exp(np.mean(np.log(4 + np.array(SCATTER)))))
    assert (never.cost, never.is_bound, early.is_bound) == (pytest.approx(BUDGET), True, False), "a miss counts with the budget"
    assert [one.solved for one in found.standings] == [1, 1, 0]
    assert [one.is_best for one in found.standings] == [True, False, False]
    assert found.ranking(TEN).best == ["early"]
    assert found.ranking(TEN).leader == "early"


def test_groups_are_not_mixed() -> None:
    """The fastest row of the other group excludes nobody, and nobody's regret is against it."""
    found = of(a=row("a", 8), b=row("b", 12), all1=row("all1", 2))
    assert found.groups == [TEN, ALL]
    assert [one.is_best for one in found.standings] == [True, False, True]
    assert [one.group for one in found.standings] == [TEN, TEN, ALL]
    regret = found.of("a").regret  # type: ignore[union-attr]
    assert regret is not None
    assert regret.value == 1
    assert found.ranking(ALL).found is not None


def test_every_axis_has_a_board_of_its_own() -> None:
    thrifty = row("thrifty", 12)
    for run in thrifty:
        run.curves["bytes"] = run.curves["bytes"] / 10
    found = of(fast=row("fast", 4), thrifty=thrifty)
    assert found.ranking(TEN).leader == "fast"
    assert found.ranking(TEN, "bytes").leader == "thrifty"
    assert found.ranking(TEN, "bytes").cost("thrifty") == pytest.approx(200)


def test_what_seeds_cannot_tell_apart_is_in_the_set_together() -> None:
    other = [arriving("b", seed, 4.1 + late) for seed, late in enumerate(reversed(SCATTER))]
    found = of(a=row("a", 4), b=other, c=row("c", 15))
    assert sorted(found.ranking(TEN).best) == ["a", "b"]
    assert found.ranking(TEN).resolution is not None


def test_a_pair_has_its_own_interval() -> None:
    ranking = of(a=row("a", 4), b=row("b", 8)).ranking(TEN)
    found, back = ranking.pair("b", "a"), ranking.pair("a", "b")
    assert found is not None
    assert back is not None
    assert found.low < found.value < found.high
    assert (back.value, back.low, back.high) == pytest.approx((1 / found.value, 1 / found.high, 1 / found.low))


def test_without_a_verdict_there_is_no_set() -> None:
    """Targets that are held within ten steps of the grid measure the grid."""
    rows = {"a": row("a", 4), "b": row("b", 8)}
    for runs in rows.values():
        for run in runs:
            alter(run, "spec.scenario.evaluation.every_seconds", 1.0)
    ranking = of(**rows).ranking(TEN)
    assert (ranking.found, ranking.best, ranking.leader, ranking.cost("a"), ranking.resolution) == (None, [], None, None, None)
    standing = of(**rows).of("a")
    assert standing is not None
    assert (standing.regret, standing.is_best) == (None, False)
    assert standing.cost == pytest.approx(4.47, abs=0.01), "its cost is shown all the same"


def test_nobody_is_best_where_nobody_arrives() -> None:
    found = of(a=row("a", None), b=row("b", None))
    assert (found.ranking(TEN).best, found.ranking(TEN).leader) == ([], None)
    assert all(one.regret is None for one in found.standings)


def test_two_seeds_have_no_set() -> None:
    ranking = of(a=row("a", 4, seeds=2), b=row("b", 8, seeds=2)).ranking(TEN)
    assert (ranking.leader, ranking.best, ranking.resolution) == ("a", [], None)


def test_a_run_that_does_not_finish_has_reached_nothing() -> None:
    found = of(a=row("a", 4, state="diverged"), b=row("b", 12))
    first, last = found.standings
    assert (first.row, last.row, last.unfinished, last.solved) == ("b", "a", SEEDS, 0)


def test_the_cost_is_over_all_targets() -> None:
    runs = row("a", 4)
    for run in runs:
        alter(run, "spec.scenario.targets", [{"value": 0.8}, {"value": 0.95}])
    (found,) = of(a=runs).standings
    assert found.cost == pytest.approx(math.exp(np.mean(np.log(4 + np.array(SCATTER)) + math.log(BUDGET)) / 2))
    assert [arrival.hits for arrival in found.arrivals] == [SEEDS, 0]
    assert found.solved == 0.5
    assert [arrival.median for arrival in found.arrivals] == [4.4, None]
    assert [arrival.bytes for arrival in found.arrivals] == [pytest.approx(2000), None]
    assert times({"slow_tail": of(a=runs)}, "a").seconds[Problem("slow_tail", 0.95)] == [math.inf] * SEEDS


def test_a_reference_is_shown_and_not_compared() -> None:
    found = board({"pooled": row("pooled", 2), "a": row("a", 4)}, references=frozenset({"pooled"}))
    assert [(one.row, one.ranking is None) for one in found.standings] == [("pooled", True), ("a", False)]
    assert found.ranked[0].is_best
    assert found.standings[0].regret is None
    assert found.standings[0].cost == pytest.approx(2.45, abs=0.05)


def test_the_leader_by_other_rules() -> None:
    """Row b touches the target at 2 s and falls back."""
    touched = row("b", 12)
    for run in touched:
        run.curves["seconds"] = np.insert(run.curves["seconds"], 1, 2.0)
        for name, column in run.curves.items():
            if name != "seconds":
                run.curves[name] = np.insert(column, 1, TARGET if name == "test_accuracy" else column[0])
    found = of(a=row("a", 4), b=touched)
    assert {rule: leader for (_, rule), leader in found.leaders.items()} == {
        "window": "a", "touch": "b", "evaluations": "a", "models": "a",
    }  # fmt: skip


def test_scatter_is_learnt_from_all_points_together() -> None:
    """A point with few rows gains from the others."""
    many = {name: row(name, 4 + k) for k, name in enumerate("abcdef")}
    groups = {"one": dict.fromkeys(many, TEN), "two": dict.fromkeys("abc", TEN)}
    alone = boards({"two": {name: many[name] for name in "abc"}}, groups=groups)["two"].ranking(TEN)
    together = boards({"one": many, "two": {name: many[name] for name in "abc"}}, groups=groups)["two"].ranking(TEN)
    assert alone.found is not None
    assert together.found is not None
    assert together.found.difference.tolist() == alone.found.difference.tolist()
    assert together.found.freedom[0, 1] != alone.found.freedom[0, 1]


def test_how_many_are_at_work() -> None:
    runs = row("a", 4)
    assert of(a=runs).standings[0].under_way is None, "records that do not say it"
    for run in runs:
        alter(run, "ledger.busy_fraction", 0.08)
    assert of(a=runs).standings[0].under_way == pytest.approx(8)


def test_what_is_no_board() -> None:
    with pytest.raises(RecordError, match="rows with runs of one scenario, got 2 rows of 2 scenarios"):
        of(a=row("a", 4), b=row("b", 4, scenario_hash="beef"))
    with pytest.raises(RecordError, match="got 1 rows of 0 scenarios"):
        of(a=[])
    runs = row("a", 4)
    for run in runs:
        alter(run, "spec.scenario.targets", [])
    with pytest.raises(UsageError, match="no targets"):
        of(a=runs)
