"""A line of the theory table, and the statistics behind the slopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fedbench.analysis.statistics import estimate

Kind = Literal["bound", "slope", "limit", "law"]


@dataclass(frozen=True)
class Row:
    """What a theorem says and what was measured.

    bound: measured <= expected, all constants included. slope: `low` .. `high` is the 95 % interval of the measured exponent, and
    holds means that it meets expected -+ `allowed`. limit, law: |measured - expected| <= allowed.
    """

    check: str
    source: str
    kind: Kind
    measured: float
    expected: float
    holds: bool
    allowed: float = 0.0
    low: float | None = None
    high: float | None = None
    points: tuple[tuple[float, float], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("measured", "expected", "allowed", "low", "high")}
        return {"check": self.check, "source": self.source, "kind": self.kind, **numbers, "holds": self.holds}


def bound(check: str, source: str, measured: float, limit: float, *, conditions: bool = True) -> Row:
    """`conditions`: were the theorem's assumptions met by what was measured?"""
    return Row(check, source, "bound", measured, limit, conditions and measured <= limit)


def near(check: str, source: str, measured: float, expected: float, allowed: float, kind: Kind = "limit") -> Row:
    return Row(check, source, kind, measured, expected, abs(measured - expected) <= allowed, allowed)


def slope(check: str, source: str, x: Sequence[float], y: np.ndarray[Any, Any], expected: float, allowed: float) -> Row:
    """Exponent of y (seeds, points) in x by least squares on logarithms, one per seed; t interval over the seeds."""
    logs = np.log(np.asarray(x, float))
    exponent = estimate(float(np.polyfit(logs, np.log(row), 1)[0]) for row in y)
    if exponent.mean is None or exponent.half_width is None:
        raise ValueError(f"slope {check}: expected at least two seeds for an interval, got {len(y)}")
    middle, low, high = exponent.mean, exponent.mean - exponent.half_width, exponent.mean + exponent.half_width
    points = tuple(zip(map(float, x), y.mean(axis=0).tolist(), strict=True))
    holds = low <= expected + allowed and high >= expected - allowed
    return Row(check, source, "slope", middle, expected, holds, allowed, low, high, points)
