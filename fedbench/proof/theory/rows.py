"""A line of the theory table, the statistics behind it, and the claim to which it belongs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fedbench.analysis.statistics import estimate

Kind = Literal["bound", "exact", "slope", "value"]
Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """What a theorem says and what was measured.

    bound: measured <= expected, all constants included, and the transient is at most half of the bound; `shares` are its terms.
    exact: measured / expected as a mean over seeds; its 95 % interval `low` .. `high` lies within 1 -+ `allowed`.
    slope: the exponent of `points`; its 95 % interval lies within expected -+ `allowed`.
    value: |measured - expected| <= allowed.
    """

    check: str
    kind: Kind
    measured: float
    expected: float
    holds: bool
    allowed: float = 0.0
    low: float | None = None
    high: float | None = None
    points: tuple[tuple[float, float], ...] = ()
    shares: tuple[tuple[str, float], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("measured", "expected", "allowed", "low", "high")}
        return {"check": self.check, "kind": self.kind, **numbers, "shares": dict(self.shares), "holds": self.holds}


@dataclass(frozen=True)
class Claim:
    """What somebody proved, and its check.

    Attributes:
        name: as on the command line.
        source: author, year and theorem.
        says: the claim in one sentence.
        measure: makes the rows; the claim holds if all of them do.
        quick: it takes at most a few seconds.
    """

    name: str
    source: str
    says: str
    measure: Callable[[], Iterator[Row]]
    quick: bool = False


def bound(check: str, measured: float, terms: dict[str, float], *, conditions: bool = True) -> Row:
    """`terms` of the bound by name, `transient` among them; `conditions`: were the theorem's
    assumptions met by what was measured?"""
    limit = sum(terms.values())
    shares = tuple((name, term / limit) for name, term in terms.items())
    has_power = dict(shares)["transient"] <= 0.5
    return Row(check, "bound", measured, limit, conditions and has_power and measured <= limit, shares=shares)


def bound_by(check: str, measured: float, limit: float) -> Row:
    """measured <= limit, of a bound that has one term and no transient."""
    return Row(check, "bound", measured, limit, measured <= limit)


def value(check: str, measured: float, expected: float, allowed: float) -> Row:
    return Row(check, "value", measured, expected, abs(measured - expected) <= allowed, allowed)


def exact(check: str, measured: npt.ArrayLike, expected: npt.ArrayLike, allowed: float = 0.05) -> Row:
    """`measured` and `expected`: one number a seed each, or one expected number for all seeds."""
    ratio = np.asarray(measured, float) / np.asarray(expected, float)
    middle, low, high = interval(check, ratio)
    return Row(check, "exact", middle, 1.0, 1 - allowed <= low and high <= 1 + allowed, allowed, low, high)


def slope(check: str, x: Sequence[float], y: Table, expected: float, allowed: float) -> Row:
    """Exponent of y in x by least squares on logarithms. y (seeds, points): one exponent a seed,
    which give an interval. y (points,): of runs without chance, which need none."""
    logs, table = np.log(np.asarray(x, float)), np.atleast_2d(y)
    exponents = np.array([np.polyfit(logs, np.log(row), 1)[0] if (row > 0).all() else np.nan for row in table])
    middle, low, high = (float(exponents[0]),) * 3 if y.ndim == 1 else interval(check, exponents)
    points = tuple(zip(map(float, x), table.mean(axis=0).tolist(), strict=True))
    holds = expected - allowed <= low and high <= expected + allowed
    return Row(check, "slope", middle, expected, holds, allowed, low, high, points)


def interval(check: str, values: Table) -> tuple[float, float, float]:
    """Mean over the seeds and its 95 % t-interval; (nan, nan, nan), with which nothing holds, if a
    run has diverged."""
    if len(values) < 2:
        raise ValueError(f"{check}: expected at least two seeds for an interval, got {len(values)}")
    found = estimate(values.tolist())
    if found.missing or found.mean is None or found.half_width is None:
        return float("nan"), float("nan"), float("nan")
    return found.mean, found.mean - found.half_width, found.mean + found.half_width
