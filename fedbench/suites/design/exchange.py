"""Draws a D-optimal design by coordinate exchange.

A design of n points is D-optimal if det(X'X) is largest, where X (n, p) has the model's columns at
its points: the joint confidence region of all effects is then smallest. From a random start one
level of one point after another is replaced by the one that enlarges the determinant most, until
none does. The best of many starts counts. No point is there twice, since a run of a point is
repeated by seeds. Source: Meyer and Nachtsheim, Technometrics 37 (1995), p. 60.

The result is a function of model, size, seed and starts, on any machine. Three things see to that.
Sums of products are elementwise operations of numpy, which IEEE 754 fixes to the bit and no BLAS
reorders. A determinant counts as larger if it is by more than TOLERANCE, far above what rounding
can add, and of those that are equal within it, as symmetric designs are, the first counts. And of
numpy's generator PCG64 only the uniform doubles are used, the top 53 bits of each number.
"""

from __future__ import annotations

import math

import numpy as np

from fedbench.errors import UsageError
from fedbench.suites.design.model import Model, Rows
from fedbench.types import Weights

TOLERANCE = 1e-6
RIDGE = 1e-4  # on the diagonal of X'X, so that a start may be singular


def generator(seed: int, stream: int) -> np.random.Generator:
    """Returns the random numbers of a seed for one purpose."""
    return np.random.Generator(np.random.PCG64([seed, stream]))


def shuffled(rng: np.random.Generator, rows: Rows) -> Rows:
    """Returns the rows in random order."""
    return rows[np.argsort(rng.random(len(rows)), kind="stable")]


def d_optimal(model: Model, size: int, seed: int, starts: int) -> Rows:
    """Returns the points of the best of so many designs, as numbers of combinations, ascending.

    UsageError if the model has more effects than the design has points, or there are fewer possible
    points.
    """
    terms, candidates = len(model.columns), model.candidates
    if not terms <= size <= len(candidates):
        raise UsageError(
            f"design {model.design.name}: points.design: expected at least {terms}, one for every effect of the model, and at most "
            f"{len(candidates):,}, the possible points, got {size}"
        )
    rng = generator(seed, 0)
    best, best_value = candidates[:0], -math.inf
    for _ in range(starts):
        found, value = _exchanged(model, shuffled(rng, candidates)[:size])
        if value > best_value + TOLERANCE:
            best, best_value = found, value
    return np.sort(best)


def _exchanged(model: Model, start: Rows) -> tuple[Rows, float]:
    """Returns the design in which no exchange enlarges the determinant, and its logarithm."""
    chosen, taken = start.copy(), ~model.possible.ravel()
    taken[chosen] = True
    counts = model.possible.shape
    strides = [math.prod(counts[f + 1 :]) for f in range(len(counts))]
    improves = True
    while improves:
        improves = False
        inverse, value = inverted(model.values[chosen])
        for i in range(len(chosen)):
            for count, stride in zip(counts, strides, strict=True):
                others = chosen[i] + stride * (np.arange(count) - chosen[i] // stride % count)
                others = others[~taken[others]]
                if len(others) == 0:
                    continue
                old, new = model.values[chosen[i]], model.values[others]
                ratios = _ratios(inverse, old, new)
                if ratios.max() <= 1 + TOLERANCE:
                    continue
                at = int(np.flatnonzero(ratios >= ratios.max() * (1 - TOLERANCE))[0])
                taken[chosen[i]], taken[others[at]] = False, True
                chosen[i] = others[at]
                inverse = _updated(_updated(inverse, new[at], 1.0), old, -1.0)
                improves = True
    return chosen, value


def _ratios(inverse: Weights, old: Weights, new: Weights) -> Weights:
    """Returns by what the determinant is multiplied if the point `old` (p,) is replaced by each of
    `new` (k, p): (1 + d(x)) (1 - d(y)) + d(x, y)^2 with d(x, y) = x' M^-1 y and d(x) = d(x, x)."""
    times = (new[:, :, None] * inverse).sum(axis=1)
    of_old = (old[:, None] * inverse).sum(axis=0)
    d_new, d_both, d_old = (times * new).sum(axis=1), (times * old).sum(axis=1), (of_old * old).sum()
    return np.asarray((1 + d_new) * (1 - d_old) + d_both * d_both)


def _updated(inverse: Weights, point: Weights, sign: float) -> Weights:
    """Returns the inverse after `sign` times x x' was added to the matrix, for a point x (p,).
    Source: Sherman and Morrison, Ann. Math. Stat. 21 (1950), p. 124."""
    times = (inverse * point).sum(axis=1)
    return np.asarray(inverse - sign * times[:, None] * times / (1 + sign * (times * point).sum()))


def inverted(points: Weights) -> tuple[Weights, float]:
    """Returns the inverse of X'X with the ridge, for the columns X (n, p) of some points, and the
    logarithm of its determinant. Elimination needs no pivots, since the matrix is positive
    definite."""
    size = points.shape[1]
    left = (points[:, :, None] * points[:, None, :]).sum(axis=0) + RIDGE * np.eye(size)
    right, logarithm = np.eye(size), 0.0
    for k in range(size):
        pivot = left[k, k]
        logarithm += math.log(pivot)
        row, other = left[k] / pivot, right[k] / pivot
        factors = left[:, k].copy()
        factors[k] = 0.0
        left = left - factors[:, None] * row
        right = right - factors[:, None] * other
        left[k], right[k] = row, other
    return right, logarithm
