"""Runs that hold their target from a second that the test states, and spend as much of everything a
second as all others."""

from __future__ import annotations

from typing import Any

from fedbench.results.record import Record
from tests.analysis import runs_made_up


def row(name: str, mean: float | None, **more: Any) -> list[Record]:
    """A run a seed; see `tests.analysis.runs_made_up.row`."""
    runs = runs_made_up.row(name, mean, **more)
    for run in runs:
        for column, a_second in (("gradient_evaluations", 100), ("bytes", 1000)):
            run.curves[column][:] = a_second * run.curves["seconds"]
    return runs
