"""Profiles and heat are those of the boards."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from fedbench.analysis.board import Board, board
from fedbench.analysis.pictures.boards import heat, order, solved_profiles
from fedbench.analysis.profiles import Problem, Reference
from fedbench.errors import UsageError
from fedbench.results.record import Record
from tests.conftest import BUDGET, TARGET, record


def runs(selector: str, second: float | None, point: str) -> list[Record]:
    """Three seeds that reach the target at a second, the later the larger the seed, or never."""
    at = [10.0 if second is None else second + seed for seed in range(3)]
    curve = (0.1, 0.5, 0.6) if second is None else (0.1, TARGET, 0.9)
    return [
        record(selector, seed, curve, seconds=(0, t, BUDGET), scenario=point, scenario_hash=point) for seed, t in enumerate(at)
    ]


@pytest.fixture(name="boards")
def _boards() -> dict[str, Board]:
    calm = {"a": runs("a", 1, "calm"), "b": runs("b", 3, "calm"), "c": runs("c", None, "calm"), "pooled": runs("p", 0.5, "calm")}
    rough = {"a": runs("a", 8, "rough"), "b": runs("b", 2, "rough")}
    return {"calm": board(calm, references=frozenset({"pooled"})), "rough": board(rough)}


def test_profiles_count_targets_within_a_factor(boards: dict[str, Board]) -> None:
    frozen = Reference("r", {Problem("calm", TARGET): 2.0, Problem("rough", TARGET): 2.0}, {})
    data = solved_profiles(boards, frozen)
    shares = {line.row: dict(zip(data.at, line.shares, strict=True)) for line in data.lines}
    assert data.relative
    assert data.problems == 2
    assert shares["a"][1.0] == pytest.approx(2 / 6)  # 1 and 2 s of 1, 2, 3 and 8, 9, 10 s
    assert shares["a"][4.0] == pytest.approx(4 / 6)
    assert shares["b"][2.0] == pytest.approx(5 / 6)
    assert shares["c"][32.0] == 0
    assert all(np.diff(line.shares).min() >= 0 for line in data.lines)


def test_profiles_without_a_reference_are_of_the_budget(boards: dict[str, Board]) -> None:
    data = solved_profiles(boards, None)
    shares = {line.row: dict(zip(data.at, line.shares, strict=True)) for line in data.lines}
    assert not data.relative
    assert shares["a"][0.1] == pytest.approx(2 / 6)
    assert shares["c"][1.0] == 0


def test_a_reference_can_be_cut_to_some_points() -> None:
    frozen = Reference(
        "r", {Problem("calm", 0.8): 2.0, Problem("rough", 0.8): 2.0}, {}, {"calm": 1.0, "rough": 2.0}, {"rough": "h"}
    )
    cut = frozen.at(["calm"])
    assert (set(cut.seconds), dict(cut.resolution), dict(cut.hashes)) == ({Problem("calm", 0.8)}, {"calm": 1.0}, {})


def test_heat_has_the_boards_numbers(boards: dict[str, Board]) -> None:
    data = heat(boards, {"calm": board({"b": runs("b", 3, "calm")})})
    cells = {row.row: dict(zip(data.points, row.cells, strict=True)) for row in data.rows}
    for point, one in boards.items():
        for standing in one.standings:
            cell = cells[standing.row][point]
            assert cell is not None
            assert (cell.mean, cell.half_width) == (standing.mean.mean, standing.mean.half_width)
            assert cell.first == (standing in one.first)
    assert cells["a"]["calm"].ratio == 1.0
    assert cells["b"]["calm"].ratio == pytest.approx(2.0)
    assert cells["pooled"]["calm"].ratio < 1
    assert cells["c"]["rough"] is None
    assert (cells["c"]["calm"].hits, cells["c"]["calm"].attempts) == (0, 3)
    assert (cells["b"]["calm"].first_alike, cells["a"]["calm"].first_alike) == (True, False)
    json.dumps(asdict(data), allow_nan=False)


def test_rows_that_solve_most_come_first_and_references_last(boards: dict[str, Board]) -> None:
    assert order(boards) == ["pooled", "b", "a", "c"]
    assert [row.row for row in heat(boards).rows] == ["b", "a", "c", "pooled"]
    assert [row.row for row in heat(boards, only=["c", "a"]).rows] == ["a", "c"]


def test_a_target_that_is_met_at_once_has_a_ratio() -> None:
    at_once = {"a": runs("a", 0, "calm")[:1], "b": runs("b", 1, "calm")[:1]}
    cells = {row.row: row.cells[0] for row in heat({"calm": board(at_once)}).rows}
    assert math.isfinite(cells["b"].ratio)
    assert cells["b"].half_width is None


def test_without_boards() -> None:
    for make in (lambda: heat({}), lambda: solved_profiles({}, None)):
        with pytest.raises(UsageError, match="expected at least one board, got none"):
            make()
