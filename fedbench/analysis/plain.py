"""Boards as plain data, for pages and files: JSON values only, no NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedbench.analysis.board import Board, Standing


def rows(board: Board, alike: Board | None = None) -> list[dict[str, Any]]:
    """Returns the standings of a board, from the earliest to the latest.

    Args:
        board: all rows.
        alike: the board of those among them that have no advantage.

    A row has its mean time to the targets in virtual seconds with the half-width of its 95 %
    interval over seeds, the time of every seed, and for every target how many seeds reach it, the
    median second and the bytes until then. `first`: it is the earliest of the board, or the seeds
    cannot tell it from the earliest; `first_alike`: the same of `alike`.
    """
    first, first_alike = _names(board.first), _names(alike.first if alike is not None else ())
    return [
        {"label": one.row, "first": one.row in first, "first_alike": one.row in first_alike, **_standing(one)}
        for one in board.standings
    ]


def _names(standings: Sequence[Standing]) -> set[str]:
    return {one.row for one in standings}


def _standing(one: Standing) -> dict[str, Any]:
    return {
        "place": one.place,
        "mean": one.mean.mean,
        "half_width": one.mean.half_width,
        "seconds": {str(seed): second for seed, second in one.seconds.items()},
        "solved": one.solved,
        "unfinished": one.unfinished,
        "targets": [
            {"target": arrival.target, "hits": arrival.hits, "median": arrival.median, "bytes": arrival.bytes}
            for arrival in one.arrivals
        ],
    }
