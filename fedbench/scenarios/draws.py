"""Draws from Gamma and Dirichlet distributions, which random streams do not have themselves. They
are logarithms, so that a small concentration does not underflow to 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench.kernels.random import RandomStream
from fedbench.types import Weights


def log_gamma(stream: RandomStream, shapes: npt.ArrayLike) -> Weights:
    """Returns log G for G ~ Gamma(shape, 1), one float64 for every shape > 0.

    A shape below 1 is drawn as Gamma(shape + 1) U^(1 / shape). All rejected elements are drawn
    again together. Source: Marsaglia and Tsang, ACM TOMS 26 (2000), p. 363.
    """
    shape = np.atleast_1d(np.asarray(shapes, np.float64))
    d = np.where(shape < 1, shape + 1, shape) - 1 / 3
    c = 1 / np.sqrt(9 * d)
    result, waiting = np.empty(len(shape)), np.arange(len(shape))
    while len(waiting):
        z, u = stream.normal(len(waiting)), stream.uniform(len(waiting))
        at, v = d[waiting], (1 + c[waiting] * z) ** 3
        log_v = np.log(np.where(v > 0, v, 1))
        accepted = (v > 0) & (np.log1p(-u) < 0.5 * z * z + at * (1 - v + log_v))
        result[waiting[accepted]] = np.log(at[accepted]) + log_v[accepted]
        waiting = waiting[~accepted]
    small = shape < 1
    result[small] += np.log1p(-stream.uniform(int(small.sum()))) / shape[small]
    return result


def shares(log_weights: Weights) -> Weights:
    """Returns shares that sum to 1, from the logarithms of weights; -inf gives the share 0. Of the
    result of `log_gamma` for the shapes alpha they are a draw from Dirichlet(alpha)."""
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())
