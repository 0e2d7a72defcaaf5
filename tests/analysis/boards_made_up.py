"""Boards of costs that are drawn, so that the truth is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench.analysis.costs import Costs

Floats = npt.NDArray[np.float64]


def costs_of(spent: npt.ArrayLike, missed: npt.ArrayLike | None = None, step: float = 0.0) -> Costs:
    """Costs (n, K) or (n, K, T) of rows a, b, c, .. with seeds 0, 1, .."""
    spent = np.asarray(spent, np.float64)
    spent = spent[:, :, None] if spent.ndim == 2 else spent
    missed = np.zeros(spent.shape, bool) if missed is None else np.asarray(missed, bool).reshape(spent.shape)
    n, rows, targets = spent.shape
    names = tuple(chr(ord("a") + k) if k < 26 else f"row{k}" for k in range(rows))
    return Costs(names, tuple(range(n)), tuple((6 + t) / 10 for t in range(targets)), spent, missed, np.full(spent.shape, step))


def drawn(
    generator: np.random.Generator,
    n: int,
    means: Floats,
    scatter: Floats,
    *,
    correlation: float = 0.0,
    heavy: bool = False,
    grid: float = 0.0,
    budget: float = np.inf,
) -> Costs:
    """Costs whose logarithms have these means and standard deviations (K,), of which all rows share
    the part `correlation`. With `heavy` the rest has the tails of a t with 3 degrees of freedom.
    With a grid they are rounded upwards to its steps, and missed behind the budget."""
    shape = (n, len(means))
    own = generator.standard_t(3, shape) / np.sqrt(3) if heavy else generator.standard_normal(shape)
    shared = generator.standard_normal((n, 1))
    spent = np.exp(means + scatter * (np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own))
    if not grid:
        return costs_of(spent)
    spent = np.ceil(spent / grid) * grid
    found = costs_of(np.minimum(spent, budget), spent > budget)
    step = np.log(found.spent / np.maximum(found.spent - grid, grid / 2))
    return Costs(found.rows, found.seeds, found.targets, found.spent, found.missed, step)
