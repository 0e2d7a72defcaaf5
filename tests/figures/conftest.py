"""Rows whose truth is known, and what a figure's file holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fedbench.analysis.board import Board, board
from fedbench.figures.style import Drawn, write
from fedbench.results.record import Record
from tests.analysis.runs_made_up import row
from tests.conftest import alter

SEEDS = 5


def runs(selector: str, second: float | None, scenario: str = "calm", state: str = "finished") -> list[Record]:
    """Five seeds that hold the target from about a second on, or never."""
    found = row(selector, second, seeds=SEEDS, scale=0.8, state=state, scenario=scenario, scenario_hash=scenario)
    for seed, one in enumerate(found):
        ledger = {
            "staleness_histogram": [6, 3, 1], "staleness_mean": 0.5, "staleness_max": 2, "jobs_consumed": 10,
            "participation_min": 0, "participation_max": 1 + seed, "participation_gini": 0.25,
        }  # fmt: skip
        alter(one, "ledger", ledger)
    return found


@pytest.fixture
def rows() -> dict[str, list[Record]]:
    return {"fast": runs("fast", 2), "slow_one": runs("slow_one", 12), "never": runs("never", None)}


@pytest.fixture
def boards(rows: dict[str, list[Record]]) -> dict[str, Board]:
    rough = {"fast": runs("fast", 4, "rough"), "slow_one": runs("slow_one", 5, "rough")}
    return {"calm": board(rows), "rough": board(rough)}


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Callable[[], Drawn]], str]:
    """Returns the SVG of a figure, after it was seen that a second drawing has the same bytes."""

    def both(draw: Callable[[], Drawn]) -> str:
        first, second = (content(draw(), tmp_path / f"{name}.svg") for name in ("first", "second"))
        assert first == second
        return first.decode()

    return both


def content(drawn: Drawn, file: Path) -> bytes:
    write(drawn, file)
    return file.read_bytes()
