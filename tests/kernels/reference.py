"""The kernels in numpy, to which the C++ must be equal bit for bit.

`adaptive` and `distill`, which benchmarks need too, are in `fedbench.bench.truth`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.bench.truth import adaptive
from fedbench.kernels.optimise import AdamRule
from fedbench.types import Array

KINDS = [  # of an adaptive step: its second moment and its momentum
    *(("adam", momentum) for momentum in ("corrected", "plain", "ahead")),
    *((second, momentum) for second in ("yogi", "adagrad") for momentum in ("plain", "ahead")),
]


def fma(a: Array, b: Array, c: Array) -> Array:
    """Returns a * b + c with one rounding, by error-free transformations and rounding to odd (Boldo
    and Melquiond, 2008).

    The product of float32 inputs is exact in float64. That of float64 inputs is split in two.
    Overflow is not handled.
    """
    dtype = np.result_type(a, b, c)
    a, b, c = (np.asarray(v, np.float64) for v in (a, b, c))
    high, low = _two_product(a, b)
    t_high, t_low = _two_sum(c, low)
    v_high, v_low = _two_sum(high, t_high)
    if dtype == np.float32:  # one more odd rounding, since the last addition is followed by the rounding to float32
        z = _add_to_odd(t_low, v_low)
        rounded: Array = _add_to_odd(v_high, z).astype(np.float32)
        return rounded
    result: Array = v_high + _add_to_odd(t_low, v_low)
    return result


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    p = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(a: Array) -> tuple[Array, Array]:
    c = 134217729.0 * a  # 2^27 + 1
    high = c - (c - a)
    return high, a - high


def _add_to_odd(a: Array, b: Array) -> Array:
    """Returns a + b rounded to odd: if the sum is inexact and its last bit is even, its neighbour
    towards the error."""
    s, error = _two_sum(a, b)
    even = (s.view(np.int64) & 1) == 0
    towards = np.where(error > 0, np.inf, -np.inf)
    odd: Array = np.where((error != 0) & even, np.nextafter(s, towards), s)
    return odd


def weighted_sum(weights: npt.NDArray[np.float64], vectors: Array) -> Array:
    """Returns the sum in arrival order, with one fma for each vector, starting from zero."""
    result: Array = np.zeros_like(vectors[0])
    for w, v in zip(weights, vectors, strict=True):
        result = fma(np.full_like(v, v.dtype.type(w)), v, result)
    return result


def dot(a: Array, b: Array, block: int = 4096) -> float:
    """Returns the sum of products: every block has eight float64 lanes, which add with one fma
    each. The lanes are added in a fixed tree, and the blocks one after another."""
    result = 0.0
    for begin in range(0, len(a), block):
        x, y = (np.asarray(v[begin : begin + block], np.float64) for v in (a, b))
        padding = -len(x) % 8
        xs, ys = (np.pad(v, (0, padding)).reshape(-1, 8) for v in (x, y))
        lanes: Array = np.zeros(8)
        for left, right in zip(xs, ys, strict=True):
            lanes = fma(left, right, lanes)
        s = lanes.tolist()
        result += ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
    return result


def philox4x32(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Returns four random words by Philox4x32-10 (Salmon et al., SC 2011): ten rounds of two
    multiplications, after each of which the Weyl constants are added to the key."""
    mask = 0xFFFFFFFF
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32) ^ c1 ^ k0, b & mask, (a >> 32) ^ c3 ^ k1, a & mask
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return c0, c1, c2, c3


def clip_factor(g: Array, clip: float | None) -> tuple[float, float]:
    """Returns the gradient's norm and the clipping factor."""
    norm = float(np.sqrt(dot(g, g)))
    return norm, 1.0 if clip is None or norm <= clip else clip / norm


def clip_sgd(x: Array, g: Array, rate: float, clip: float | None) -> tuple[Array, float, float]:
    """Returns the new x, the gradient's norm and the clipping factor."""
    norm, factor = clip_factor(g, clip)
    return x - rate * (factor * g), norm, factor


def clip_adam(
    x: Array, moments: tuple[Array, ...], g: Array, rule: AdamRule, clip: float | None
) -> tuple[Array, tuple[Array, ...], float, float]:
    """Returns the new x, the new moments, the gradient's norm and the clipping factor."""
    norm, factor = clip_factor(g, clip)
    x, moments = adaptive(x, moments, factor * g, dataclasses.replace(rule, rate=-rule.rate), False)
    return x, moments, norm, factor


def update_cache(
    order: str, weights: list[float], vectors: list[Array], clients: list[int], rows: Array, total: Array, scale: float
) -> tuple[Array, Array, Array]:
    """Returns the mean v, the new rows (N, d) and their new sum (d,), which is float64."""
    real, rows, total = rows.dtype.type, rows.copy(), total.copy()
    v, before = (scale * total).astype(rows.dtype), rows.copy()
    for k, (vector, client) in enumerate(zip(vectors, clients, strict=True)):
        if order != "newest":
            old = before[client] if order == "deferred" else rows[client]
            v = fma(np.full_like(v, real(weights[k])), vector - old, v)
        total += vector.astype(np.float64) - rows[client]
        rows[client] = vector
    return (scale * total).astype(rows.dtype) if order == "newest" else v, rows, total


def teacher_mean(store: list[npt.NDArray[Any] | None], batch: list[int]) -> Array:
    """Returns the mean over the clients that have logits."""
    result: Array = np.mean([np.asarray(z, np.float64)[batch] for z in store if z is not None], axis=0)
    return result
