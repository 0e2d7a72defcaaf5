"""Optimiser steps on flat vectors, in place: clipping fused with SGD or Adam, and the adaptive
server step.

x, m, v, vhat (d,) are plain numpy arrays, float32 or float64 of one dtype, C-contiguous, writeable,
and are overwritten; no two arrays of a call may overlap. A wrong array is a TypeError in the form
`m: expected float32 (d,) C-contiguous, got ..`, an overlap a ValueError.
csrc/include/fedbench/optimise.hpp states the order of operations; the bits are the same on every
instruction set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbench import _core
from fedbench.kernels import checks
from fedbench.kernels.checks import Rows
from fedbench.types import Vector, Weights

LAST_STEP = (1 << 63) - 1

_SGD: dict[Any, Any] = {np.dtype(np.float32): _core.clip_sgd_float32, np.dtype(np.float64): _core.clip_sgd_float64}
_ADAM: dict[Any, Any] = {np.dtype(np.float32): _core.clip_adam_float32, np.dtype(np.float64): _core.clip_adam_float64}
_ADAPTIVE: dict[Any, Any] = {np.dtype(np.float32): _core.adaptive_step_float32, np.dtype(np.float64): _core.adaptive_step_float64}
_SUM_ADAPTIVE: dict[Any, Any] = {
    np.dtype(np.float32): _core.sum_adaptive_step_float32,
    np.dtype(np.float64): _core.sum_adaptive_step_float64,
}


@dataclass(frozen=True)
class AdamRule:
    """beta1 and beta2 in [0, 1), epsilon >= 0 outside the root; `step` t counts from 1 and matters
    for the correction.

    A negative rate turns the direction. ValueError for values out of range or not finite, TypeError
    for what is no number. `ahead`: the step takes beta1 m + (1 - beta1) D of the new m instead of m
    [FedAC]; only without bias_correction (ValueError).
    """

    rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    bias_correction: bool = True
    step: int = 1
    ahead: bool = False

    def __post_init__(self) -> None:
        checks.within("rate", self.rate, "finite")
        checks.within("beta1", self.beta1, ">= 0 and < 1", 0, 1)
        checks.within("beta2", self.beta2, ">= 0 and < 1", 0, 1)
        checks.within("epsilon", self.epsilon, "finite and >= 0", 0)
        checks.whole("step", self.step, 1, LAST_STEP)
        if self.ahead and self.bias_correction:
            raise ValueError("ahead: is defined without bias correction only")

    def _numbers(self) -> tuple[float, float, float, float, bool, int, bool]:
        return self.rate, self.beta1, self.beta2, self.epsilon, bool(self.bias_correction), self.step, bool(self.ahead)


def _kernel(table: dict[Any, Any], x: Vector) -> Any:
    return table[checks.array("x", x, "(d,)").dtype]


def _bound(clip: float | None) -> float:
    if clip is None:
        return math.inf
    bound = checks.number("clip", clip)
    if not bound > 0:
        raise ValueError(f"clip: must be > 0 or None, got {bound:g}")
    return bound


def clip_sgd(x: Vector, g: Vector, rate: float, clip: float | None = None, *, isa: str = "") -> tuple[float, float]:
    """x -= rate factor g in place, factor = 1 if |g|_2 <= clip else clip / |g|_2. Returns (norm before clipping, factor).

    NaN: without `clip` an element that is not finite stays in its place; with it, a NaN makes all
    of x NaN, an infinity makes the factor 0 and its own element NaN.
    """
    norm, factor = _kernel(_SGD, x)(x, g, checks.within("rate", rate, "finite"), _bound(clip), isa)
    return norm, factor


def clip_adam(
    x: Vector, m: Vector, v: Vector, g: Vector, rule: AdamRule, clip: float | None = None, *, isa: str = ""
) -> tuple[float, float]:
    """Adam with bias correction on the clipped gradient g' = factor g, in place. Returns (norm
    before clipping, factor).

        m = beta1 m + (1 - beta1) g', v = beta2 v + (1 - beta2) g'^2
        x -= rate (m / (1 - beta1^t)) / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)

    NaN as in `clip_sgd`. ValueError if rule.step < 1.
    """
    norm, factor = _kernel(_ADAM, x)(x, (m, v), g, rule._numbers(), _bound(clip), isa)
    return norm, factor


def adaptive_step(
    x: Vector,
    m: Vector,
    v: Vector,
    vhat: Vector | None,
    direction: Vector,
    rule: AdamRule,
    *,
    use_maximum: bool = True,
    isa: str = "",
) -> None:
    """The server step of FedAdam and FADAS in one pass, in place [FADAS, Alg. 1].

        m = beta1 m + (1 - beta1) D, v = beta2 v + (1 - beta2) D^2, vhat = max(vhat, v), u = vhat if use_maximum else v
        x += rate (m / (1 - beta1^t)) / (sqrt(u) / sqrt(1 - beta2^t) + epsilon)      without bias_correction: both divisors 1

    The maximum is of the uncorrected v. `vhat` may be None if use_maximum is False; if given it is
    kept up to date.
    """
    moments = (m, v) if vhat is None else (m, v, vhat)
    _kernel(_ADAPTIVE, x)(x, moments, direction, rule._numbers(), use_maximum, isa)


def sum_adaptive_step(
    x: Vector,
    m: Vector,
    v: Vector,
    vhat: Vector | None,
    weights: Weights | Sequence[float],
    vectors: Rows,
    rule: AdamRule,
    *,
    use_maximum: bool = True,
    isa: str = "",
) -> float:
    """`adaptive_step` with D = weighted_sum(weights, vectors), the same bits, without a vector for D. Returns |D|_2^2 (float64)."""
    kernel = _kernel(_SUM_ADAPTIVE, x)
    checks.count(vectors)
    moments = (m, v) if vhat is None else (m, v, vhat)
    factors = checks.weights(weights)
    norm2: float = kernel(x, moments, factors, vectors, rule._numbers(), use_maximum, isa)
    return norm2
