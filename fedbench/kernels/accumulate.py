"""Sums over model vectors, with the same bits on every instruction set.

`weighted_sum` adds in arrival order with one fused multiply-add per element and weight. `dot` and
`norm` sum in float64, in blocks; csrc/include/fedbench/accumulate.hpp states the order. Vectors are
plain numpy arrays, float32 or float64, C-contiguous. Nothing is cast silently: another array is a
TypeError of the form `vectors: expected float32 (K, d) C-contiguous, got ..`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedbench import _core
from fedbench.kernels import checks
from fedbench.kernels.checks import Rows
from fedbench.types import Vector, Weights


def weighted_sum(weights: Weights | Sequence[float], vectors: Rows, *, out: Vector | None = None, isa: str = "") -> Vector:
    """Returns sum_k w_k v_k, added in arrival order with one fused multiply-add per element and
    weight.

    Parameters
    ----------
    weights : float64 array (K,) or sequence of float
        The weights, which are rounded to the vectors' dtype.
    vectors : array (K, d), or K arrays (d,)
        The vectors, float32 or float64, K >= 1.
    out : array (d,), optional
        Receives the result. It may not overlap a vector or the weights.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Returns
    -------
    array (d,)
        The sum, in the dtype of the vectors.

    Raises
    ------
    TypeError
        An array has a wrong dtype, shape or layout.
    ValueError
        There is no vector, the numbers of weights and vectors differ, or arrays overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbench import kernels
    >>> kernels.weighted_sum([0.5, 0.25], np.array([[2.0, 4.0], [4.0, 8.0]]))
    array([2., 4.])
    """
    return _sum(weights, vectors, out, isa, norm=False)[0]


def weighted_sum_norm(
    weights: Weights | Sequence[float], vectors: Rows, *, out: Vector | None = None, isa: str = ""
) -> tuple[Vector, float]:
    """Returns `weighted_sum` and its squared L2 norm (float64), in one pass over memory."""
    return _sum(weights, vectors, out, isa, norm=True)


def _sum(weights: Weights | Sequence[float], vectors: Rows, out: Vector | None, isa: str, *, norm: bool) -> tuple[Vector, float]:
    """Returns the sum and its squared norm, which on a device is NaN unless it is wanted: there it
    takes a wait."""
    first = checks.first_of(vectors)
    factors = checks.weights(weights)
    if out is None:
        out = np.empty_like(first)
    if device := checks.device_of(first, isa):
        if norm:
            return out, float(device.now.weighted_sum_norm(factors, vectors, out=out)[1])
        device.later.weighted_sum(factors, vectors, out=out)
        return out, math.nan
    return out, _core.weighted_sum(factors, vectors, out, isa)


def mean(vectors: Rows) -> Vector:
    """Returns (1/K) sum_k v_k, computed as a weighted sum with weights 1/K.

    Parameters
    ----------
    vectors : array (K, d), or K arrays (d,)
        The vectors, float32 or float64, K >= 1.

    Returns
    -------
    array (d,)
        The mean, in the dtype of the vectors.
    """
    size = checks.count(vectors)
    return weighted_sum(np.full(size, 1.0 / size), vectors)


def dot(a: Vector, b: Vector, *, isa: str = "") -> float:
    """Returns sum_i a_i b_i, summed in float64.

    Parameters
    ----------
    a : array (d,)
        A vector, float32 or float64.
    b : array (d,)
        Another one of the same dtype.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Returns
    -------
    float
        The product.

    Raises
    ------
    TypeError
        An array has a wrong dtype, shape or layout.
    """
    if device := checks.device_of(a, isa):
        return float(device.now.dot(a, b))
    return _core.dot(checks.array("a", a, "(d,)"), b, isa)


def row_dots(matrix: Weights, vector: Weights) -> Weights:
    """Returns matrix @ vector with bits that depend on no library and no processor.

    Parameters
    ----------
    matrix : float64 array (N, C)
        The matrix.
    vector : float64 array (C,)
        The vector.

    Returns
    -------
    float64 array (N,)
        The product of every row with the vector, in the order that the header of the core states.

    Raises
    ------
    TypeError
        An array has a wrong dtype, shape or layout.
    """
    return _core.row_dots(matrix, vector)


class Movement(NamedTuple):
    """Sums over the elements of x, of u = x - base, and of delta, in float64.

    Attributes
    ----------
    x2 : float
        |x|^2.
    moved2 : float
        |u|^2.
    delta2 : float
        |delta|^2.
    product : float
        u . delta.
    """

    x2: float  # |x|^2
    moved2: float  # |u|^2
    delta2: float  # |delta|^2
    product: float  # u . delta

    @property
    def cosine(self) -> float:
        """cos(u, delta), where neither is zero."""
        return self.product / (math.sqrt(self.moved2) * math.sqrt(self.delta2))


def movement(x: Vector, base: Vector, delta: Vector, *, isa: str = "") -> Movement:
    """Returns how far the server has moved from `base` to `x`, and how `delta` agrees with that.

    The vectors are read in one pass, and each sum is computed as in `dot`. NaN and infinity
    propagate.

    Parameters
    ----------
    x : array (d,)
        The model now, float32 or float64.
    base : array (d,)
        An earlier model of the same dtype.
    delta : array (d,)
        The progress of a client of the same dtype.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Returns
    -------
    Movement
        The sums `x2`, `moved2`, `delta2` and `product`.

    Raises
    ------
    TypeError
        An array has a wrong dtype, shape or layout.
    """
    if device := checks.device_of(x, isa):
        return Movement(*device.now.movement(x, base, delta))
    return Movement(*_core.movement(checks.array("x", x, "(d,)"), base, delta, isa))


def norm(a: Vector) -> float:
    """Returns the L2 norm, computed in float64.

    Parameters
    ----------
    a : array (d,)
        A vector, float32 or float64.

    Returns
    -------
    float
        The norm.
    """
    return math.sqrt(dot(a, a))
