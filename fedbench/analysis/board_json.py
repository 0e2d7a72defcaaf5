"""Boards as plain data for pages and files. There are only JSON values, and no NaN."""

from __future__ import annotations

from typing import Any

from fedbench.analysis.board import Board


def rows(board: Board, alike: Board | None = None) -> list[dict[str, Any]]:
    """Returns the standings of a board, from the earliest to the latest. `alike` is the board of
    those rows that have no advantage.

    A row has its mean time to the targets in virtual seconds with the half-width of its 95 %
    interval over seeds, the time of every seed, and for every target how many seeds reach it, the
    median second and the bytes until then. `first` says whether it is the earliest of the board, or
    cannot be told from the earliest; `first_alike` says the same of `alike`.
    """
    return [
        {
            "label": one.row,
            "first": board.is_first(one.row),
            "first_alike": alike is not None and alike.is_first(one.row),
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
        for one in board.standings
    ]
