"""Sums over model vectors, with the same bits on every instruction set.

`weighted_sum` adds in arrival order with one fused multiply-add per element and weight. `dot` and
`norm` sum in float64, in blocks; csrc/include/fedbench/accumulate.hpp states the order. Vectors are
plain numpy arrays, float32 or float64, C-contiguous. Nothing is cast silently: another array is a
TypeError of the form `vectors: expected float32 (K, d) C-contiguous, got ..`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np

from fedbench import _core
from fedbench.kernels import checks
from fedbench.kernels.checks import Rows
from fedbench.types import Vector, Weights


def weighted_sum(weights: Weights | Sequence[float], vectors: Rows, *, out: Vector | None = None, isa: str = "") -> Vector:
    """Returns sum_k w_k v_k (d,).

    Args:
        weights: a float64 array (K,) or a list of numbers, which are rounded to the vectors' dtype.
        vectors: an array (K, d) or K vectors (d,), K >= 1.
        out: receives the result if given. It may not overlap a vector or the weights.
        isa: the instruction set; empty is the one in use on this machine.
    """
    return weighted_sum_norm(weights, vectors, out=out, isa=isa)[0]


def weighted_sum_norm(
    weights: Weights | Sequence[float], vectors: Rows, *, out: Vector | None = None, isa: str = ""
) -> tuple[Vector, float]:
    """Returns `weighted_sum` and its squared L2 norm (float64), in one pass over memory."""
    first = checks.first_of(vectors)
    factors = checks.weights(weights)
    if out is None:
        out = cast(Vector, np.empty(first.shape, first.dtype))
    return out, _core.weighted_sum(factors, vectors, out, isa)


def mean(vectors: Rows) -> Vector:
    """Returns (1/K) sum_k v_k, computed as a weighted sum with weights 1/K."""
    size = checks.count(vectors)
    return weighted_sum(np.full(size, 1.0 / size), vectors)


def dot(a: Vector, b: Vector, *, isa: str = "") -> float:
    """Returns sum_i a_i b_i in float64, of a and b (d,) of one dtype."""
    return _core.dot(checks.array("a", a, "(d,)"), b, isa)


class Movement(NamedTuple):
    """Float64 sums over the elements of x, of u = x - base, and of delta."""

    x2: float  # |x|^2
    moved2: float  # |u|^2
    delta2: float  # |delta|^2
    product: float  # u . delta


def movement(x: Vector, base: Vector, delta: Vector, *, isa: str = "") -> Movement:
    """Returns how far the server has moved from `base` to `x`, and how `delta` agrees with that.

    x, base and delta are (d,) of one dtype and are read in one pass. Each sum is computed as in
    `dot`. NaN and infinity propagate. TypeError for a wrong dtype, shape or layout.
    """
    return Movement(*_core.movement(checks.array("x", x, "(d,)"), base, delta, isa))


def norm(a: Vector) -> float:
    """Returns the L2 norm in float64."""
    return math.sqrt(dot(a, a))
