"""Reductions over model vectors, the same bits on every instruction set.

`weighted_sum` adds in arrival order with one fused multiply-add per element and weight; `dot` and `norm` sum in float64, in
blocks (csrc/include/fedbench/accumulate.hpp states the order). Vectors are float32 or float64, C-contiguous; nothing is cast
silently: a wrong dtype or shape is a TypeError in the form `vectors: expected float32 (K, d) C-contiguous, got ..`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.types import Vector

Rows = npt.NDArray[np.floating[Any]] | Sequence[Vector]

_WEIGHTED_SUM = {np.dtype(np.float32): _core.weighted_sum_float32, np.dtype(np.float64): _core.weighted_sum_float64}
_MOVEMENT: dict[Any, Any] = {np.dtype(np.float32): _core.movement_float32, np.dtype(np.float64): _core.movement_float64}
_DOT = {np.dtype(np.float32): _core.dot_float32, np.dtype(np.float64): _core.dot_float64}


def weighted_sum(weights: npt.ArrayLike, vectors: Rows, *, out: Vector | None = None, isa: str = "") -> Vector:
    """sum_k w_k v_k (d,). `weights` (K,) float64 are rounded to the vectors' dtype; `vectors` (K, d) or K vectors (d,), K >= 1.

    `out` receives the result if given and may not overlap a vector.
    """
    return weighted_sum_norm(weights, vectors, out=out, isa=isa)[0]


def weighted_sum_norm(weights: npt.ArrayLike, vectors: Rows, *, out: Vector | None = None, isa: str = "") -> tuple[Vector, float]:
    """The weighted sum and its squared L2 norm (float64), in one pass over memory."""
    if len(vectors) == 0:
        raise ValueError("vectors: expected at least one vector, got none")
    first = vectors[0]
    kernel = _WEIGHTED_SUM.get(first.dtype)
    if kernel is None:
        raise TypeError(f"vectors: expected float32 or float64, got {first.dtype}")
    if out is None:
        out = cast(Vector, np.empty(first.shape, first.dtype))
    return out, kernel(np.ascontiguousarray(weights, np.float64), vectors, out, isa)


def mean(vectors: Rows) -> Vector:
    """(1/K) sum_k v_k; the factor is inside the weights."""
    return weighted_sum(np.full(len(vectors), 1.0 / max(1, len(vectors))), vectors)


def total(vectors: Rows) -> Vector:
    """sum_k v_k."""
    return weighted_sum(np.ones(len(vectors)), vectors)


def dot(a: Vector, b: Vector, *, isa: str = "") -> float:
    """sum_i a_i b_i in float64; a and b (d,) of one dtype."""
    kernel = _DOT.get(a.dtype)
    if kernel is None or a.dtype != b.dtype:
        raise TypeError(f"a, b: expected two float32 or two float64 vectors, got {a.dtype} and {b.dtype}")
    return kernel(a, b, isa)


class Movement(NamedTuple):
    """Float64 sums over the elements of x, of u = x - base, and of delta."""

    x2: float  # |x|^2
    moved2: float  # |u|^2
    delta2: float  # |delta|^2
    product: float  # u . delta


def movement(x: Vector, base: Vector, delta: Vector, *, isa: str = "") -> Movement:
    """How far the server has moved since `base`, and how `delta` agrees with that; x, base, delta (d,) of one dtype, in one pass.

    Each sum as in `dot`. NaN and infinity propagate. TypeError for a wrong dtype, shape or layout.
    """
    kernel = _MOVEMENT.get(getattr(x, "dtype", None))
    if kernel is None:
        raise TypeError(f"x: expected float32 or float64, got {getattr(x, 'dtype', type(x).__name__)}")
    return Movement(*kernel(x, base, delta, isa))


def norm(a: Vector) -> float:
    """L2 norm in float64."""
    return math.sqrt(dot(a, a))
