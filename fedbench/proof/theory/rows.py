"""A row of the theory table, the statistics behind it, and the claim to which it belongs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fedbench.analysis.statistics import estimate

Kind = Literal["bound", "exact", "slope", "value"]
Table = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """A measured value beside the one that a theorem says. The kinds say when it `holds`:

    bound: measured <= expected, with all constants, and the transient is at most half of the
        bound, whose terms are the `shares`.
    exact: measured / expected is a mean over seeds, whose 95 % interval from `low` to `high`
        lies within 1 -+ `allowed`.
    slope: the 95 % interval of the exponent of `points` lies within expected -+ `allowed`. `sign`
        says on which side of 0 the points lie; where that is below, the exponent is that of their
        sizes.
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
    sign: int = 1

    def as_dict(self) -> dict[str, object]:
        names = ("check", "kind", "measured", "expected", "allowed", "low", "high", "sign")
        return {name: getattr(self, name) for name in names} | {"shares": dict(self.shares), "holds": self.holds}


@dataclass(frozen=True)
class Claim:
    """A claim that somebody proved, and its check.

    Attributes:
        name: as on the command line.
        source: author, year and theorem.
        says: the claim in one sentence.
        measure: yields the rows. The claim holds if all of them do.
        quick: whether it takes at most a few seconds.
    """

    name: str
    source: str
    says: str
    measure: Callable[[], Iterator[Row]]
    quick: bool = False


def claim(name: str, source: str, says: str, *, quick: bool = False) -> Callable[[Callable[[], Iterator[Row]]], Claim]:
    """Returns the decorator that makes a `Claim` of the function which measures it. The arguments
    are the attributes of the claim."""
    return lambda measure: Claim(name, source, says, measure, quick)


def bound(check: str, measured: float, terms: dict[str, float], *, conditions: bool = True) -> Row:
    """Returns the row of a bound.

    Args:
        check: what is measured, in words.
        measured: the value.
        terms: the terms of the bound by name, `transient` among them.
        conditions: whether the measured run met the theorem's assumptions.
    """
    limit = math.fsum(terms.values())
    shares = tuple((name, term / limit) for name, term in terms.items())
    has_power = dict(shares)["transient"] <= 0.5
    return Row(check, "bound", measured, limit, conditions and has_power and measured <= limit, shares=shares)


def bound_by(check: str, measured: float, limit: float) -> Row:
    """Returns the row of a bound that has one term and no transient: measured <= limit."""
    return Row(check, "bound", measured, limit, measured <= limit)


def value(check: str, measured: float, expected: float, allowed: float) -> Row:
    """Returns the row of a number that must lie within `allowed` of the expected one."""
    return Row(check, "value", measured, expected, abs(measured - expected) <= allowed, allowed)


def exact(check: str, measured: npt.ArrayLike, expected: npt.ArrayLike, allowed: float = 0.05) -> Row:
    """Returns the row of a mean over seeds. `measured` has a number for every seed, and `expected`
    too, or one number for all."""
    ratio = np.asarray(measured, float) / np.asarray(expected, float)
    middle, low, high = interval(check, ratio)
    return Row(check, "exact", middle, 1.0, 1 - allowed <= low and high <= 1 + allowed, allowed, low, high)


def slope(check: str, x: Sequence[float], y: Table, expected: float, allowed: float) -> Row:
    """Returns the row of the exponent of y in x, by least squares on logarithms.

    Args:
        check: what is measured, in words.
        x: the sizes.
        y: (seeds, points), which gives an exponent for every seed and their interval, or (points,)
            for runs without chance, which need no interval. All values are positive, or all are
            negative; otherwise there is no exponent and the row does not hold.
        expected: the proven exponent.
        allowed: how far the interval may reach from it.
    """
    logs, table = np.log(np.asarray(x, float)), np.atleast_2d(y)
    sign = -1 if (table < 0).all() else 1
    exponents = np.array([np.polyfit(logs, np.log(sign * row), 1)[0] if (sign * row > 0).all() else np.nan for row in table])
    middle, low, high = (float(exponents[0]),) * 3 if y.ndim == 1 else interval(check, exponents)
    points = tuple(zip(map(float, x), table.mean(axis=0).tolist(), strict=True))
    holds = expected - allowed <= low and high <= expected + allowed
    return Row(check, "slope", middle, expected, holds, allowed, low, high, points, sign=sign)


def interval(check: str, values: Table) -> tuple[float, float, float]:
    """Returns the mean over the seeds and the ends of its 95 % t-interval. All are NaN if a run has
    diverged, so that no row holds."""
    if len(values) < 2:
        raise ValueError(f"{check}: expected at least two seeds for an interval, got {len(values)}")
    found = estimate(values.tolist())
    if found.missing or found.mean is None or found.half_width is None:
        return float("nan"), float("nan"), float("nan")
    return found.mean, found.mean - found.half_width, found.mean + found.half_width
