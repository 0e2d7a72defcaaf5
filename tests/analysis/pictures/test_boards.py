"""Profiles and heat are those of the boards."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from fedbench.analysis.board import Board, board
from fedbench.analysis.board_table import BoardLine
from fedbench.analysis.groups import Group
from fedbench.analysis.pictures.boards import heat, kinds, order, solved_profiles
from fedbench.analysis.profiles import Problem, Reference, Solved
from fedbench.errors import UsageError
from fedbench.results.record import Record
from tests.analysis.runs_made_up import row
from tests.conftest import TARGET

TEN, ALL = Group(10, 100), Group(100, 100)


def runs(name: str, second: float | None, point: str) -> list[Record]:
    """Three seeds that hold the target half a second or a second after each other, or never."""
    return row(name, second, seeds=3, scenario=point, scenario_hash=point)


@pytest.fixture(name="boards")
def _boards() -> dict[str, Board]:
    """`c` never arrives, `d` has all clients at work at `rough` only, and `e` is alone there."""
    calm = {"a": runs("a", 2, "calm"), "b": runs("b", 6, "calm"), "c": runs("c", None, "calm"), "pooled": runs("p", 1, "calm")}
    rough = {"a": runs("a", 12, "rough"), "b": runs("b", 4, "rough"), "d": runs("d", 3, "rough")}
    groups = {"a": TEN, "b": TEN, "c": TEN, "pooled": ALL}
    return {
        "calm": board(calm, references=frozenset({"pooled"}), groups=groups),
        "rough": board(rough, groups={"a": TEN, "b": TEN, "d": ALL}),
    }


def reference(target: float) -> Reference:
    """One by which both points are solved after two seconds."""
    solved = tuple(Solved(scenario=point, target=target, seconds=2.0) for point in ("calm", "rough"))
    return Reference(name="r", made_of={}, hashes={}, problems=solved)


def test_profiles_count_targets_within_a_factor(boards: dict[str, Board]) -> None:
    frozen = reference(TARGET)
    data = solved_profiles(boards, frozen)
    shares = {line.row: dict(zip(data.at, line.shares, strict=True)) for line in data.lines}
    assert data.relative
    assert data.problems == 2
    assert shares["a"][1.0] == pytest.approx(1 / 6)  # 2, 2.5 and 3 s of 2 s, and none of 12 s
    assert shares["a"][4.0] == pytest.approx(3 / 6)
    assert shares["b"][2.0] == pytest.approx(1 / 6)
    assert shares["c"][32.0] == 0
    assert all(np.diff(line.shares).min() >= 0 for line in data.lines)


def test_profiles_without_a_reference_are_of_the_budget(boards: dict[str, Board]) -> None:
    data = solved_profiles(boards, None)
    shares = {line.row: dict(zip(data.at, line.shares, strict=True)) for line in data.lines}
    assert not data.relative
    assert shares["a"][0.15] == pytest.approx(3 / 6)
    assert shares["c"][1.0] == 0


def test_a_reference_can_be_cut_to_some_points() -> None:
    frozen = reference(0.8).model_copy(update={"resolution": {"calm": 1.0, "rough": 2.0}, "hashes": {"rough": "h"}})
    cut = frozen.at(["calm"])
    assert (set(cut.seconds), dict(cut.resolution), dict(cut.hashes)) == ({Problem("calm", 0.8)}, {"calm": 1.0}, {})


def cells(boards: dict[str, Board]) -> dict[tuple[str, str, str], BoardLine | None]:
    """By kind of system, row and point."""
    data = heat(boards)
    return {
        (group.kind, line.row, point): cell
        for group in data.groups
        for line in group.rows
        for point, cell in zip(data.points, line.cells, strict=True)
    }


def test_heat_has_the_boards_numbers(boards: dict[str, Board]) -> None:
    found = cells(boards)
    a, b, c = (found["10 clients at work", name, "calm"] for name in "abc")
    standing = boards["calm"].of("b")
    assert a is not None
    assert b is not None
    assert c is not None
    assert standing is not None
    assert standing.regret is not None
    assert (b.cost, b.regret) == (standing.cost, standing.regret.numbers)
    assert (a.is_best, b.is_best, c.is_best) == (True, False, False)
    assert (c.hits, c.regret, c.is_bound) == (0, None, True)
    assert found["10 clients at work", "c", "rough"] is None
    json.dumps(asdict(heat(boards)), allow_nan=False)


def test_rows_of_other_systems_and_references_have_groups_of_their_own(boards: dict[str, Board]) -> None:
    assert kinds(boards) == ["10 clients at work", "all clients at work", ""]
    data = heat(boards)
    assert [(group.kind, [line.row for line in group.rows]) for group in data.groups] == [
        ("10 clients at work", ["b", "a", "c"]),
        ("all clients at work", ["d"]),
        ("", ["pooled"]),
    ]
    ten, all_of_them, pooled = data.groups
    assert tuple(line and line.cost for line in ten.cheapest) == (
        pytest.approx(2.4662, abs=1e-3),
        pytest.approx(4.4810, abs=1e-3),
    )
    assert all_of_them.cheapest[0] is None
    alone = all_of_them.rows[0].cells[1]
    assert alone is not None
    assert (alone.regret, alone.is_best, alone.has_verdict) == (None, False, True)
    assert pooled.rows[0].cells[0] is not None


def test_a_row_may_have_another_system_at_another_point() -> None:
    """Ten clients at work are all of ten clients."""
    one = {"a": runs("a", 3, "calm"), "b": runs("b", 4, "calm")}
    boards = {
        "calm": board(one, groups={"a": TEN, "b": TEN}),
        "rough": board(one, groups={"a": Group(10, 10), "b": TEN}),
    }
    found = cells(boards)
    assert found["10 clients at work", "a", "rough"] is None
    assert found["all clients at work", "a", "calm"] is None
    assert found["all clients at work", "a", "rough"] is not None


def test_rows_that_cost_least_come_first(boards: dict[str, Board]) -> None:
    assert order(boards) == ["d", "b", "a", "c", "pooled"]
    group = heat(boards, only=["c", "a"]).groups[0]
    assert [line.row for line in group.rows] == ["a", "c"]
    assert [line and line.row for line in group.cheapest] == ["a", "b"], "of all rows: regrets are over it"


def test_without_a_verdict_there_is_no_regret() -> None:
    """Both hold the target within ten steps of the grid."""
    found = cells({"calm": board({name: runs(name, second, "calm") for name, second in (("a", 0.3), ("b", 0.4))})})
    assert [(cell.regret, cell.has_verdict) for cell in found.values() if cell] == [(None, False)] * 2


def test_without_boards() -> None:
    for make in (lambda: heat({}), lambda: solved_profiles({}, None)):
        with pytest.raises(UsageError, match="expected at least one board, got none"):
            make()
