"""Optimiser steps on flat vectors, in place: SGD or Adam with clipping, and the adaptive server
step.

x, m, v and vhat (d,) are overwritten. They are plain numpy arrays, float32 or float64 of one dtype,
C-contiguous and writeable, and no two arrays of a call may overlap. A wrong array is a TypeError of
the form `m: expected float32 (d,) C-contiguous, got ..`, and an overlap is a ValueError.
csrc/include/fedbench/optimise.hpp states the order of operations. The bits are the same on every
instruction set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from fedbench import _core
from fedbench.kernels import checks
from fedbench.kernels.awaited import Awaited
from fedbench.kernels.checks import Rows
from fedbench.types import Vector, Weights

Second = Literal["adam", "yogi", "adagrad"]
LAST_STEP = (1 << 63) - 1
RESNET18 = 11_173_962  # parameters of ResNet-18 as papers train it on CIFAR-10, for ten classes


def rate_for(parameters: int, of_resnet18: float) -> float:
    """Returns the rate of Adam that moves a model as far as a given rate moves ResNet-18.

    A step moves every parameter by up to about the rate, and so the model by up to sqrt(parameters)
    times the rate, however large the gradient is. Therefore a rate that a paper chose for one model
    means nothing for another until it is scaled. Steps that are a rate times a gradient or times
    progress need no such scaling.

    Parameters
    ----------
    parameters : int
        The number of parameters of the model.
    of_resnet18 : float
        The rate for ResNet-18, which has 11,173,962 parameters with ten classes.

    Returns
    -------
    float
        of_resnet18 * sqrt(11,173,962 / parameters).

    Examples
    --------
    >>> from fedbench import kernels
    >>> round(kernels.rate_for(100_000, 0.001), 4)
    0.0106
    """
    return of_resnet18 * math.sqrt(RESNET18 / parameters)


@dataclass(frozen=True)
class AdamRule:
    """The numbers of a step of Adam.

    Attributes
    ----------
    rate : float
        The rate of the step. A negative one turns the direction.
    beta1 : float
        The share of the old first moment, in [0, 1).
    beta2 : float
        The share of the old second moment, in [0, 1).
    epsilon : float
        Added to the root, outside of it; at least 0.
    bias_correction : bool
        Whether the moments are divided by 1 - beta^t.
    step : int
        t, which counts from 1 and is used for the bias correction.
    ahead : bool
        The step takes beta1 m + (1 - beta1) D with the new m in the place of m [FedAC]. Only
        without bias_correction.
    second : {"adam", "yogi", "adagrad"}
        The rule of the second moment [Reddi et al. 2021, Alg. 2]. adam: v = beta2 v + (1 - beta2)
        D^2. yogi: v = v - (1 - beta2) D^2 sign(v - D^2), with sign(0) = 0. adagrad: v = v + D^2,
        without beta2. The last two only without bias_correction.

    Raises
    ------
    TypeError
        A value is no number.
    ValueError
        A number is out of range or not finite, or `ahead`, yogi or adagrad is combined with
        bias_correction, or `second` is unknown.
    """

    rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    bias_correction: bool = True
    step: int = 1
    ahead: bool = False
    second: Second = "adam"

    def __post_init__(self) -> None:
        checks.within("rate", self.rate, "finite")
        checks.within("beta1", self.beta1, ">= 0 and < 1", 0, 1)
        checks.within("beta2", self.beta2, ">= 0 and < 1", 0, 1)
        checks.within("epsilon", self.epsilon, "finite and >= 0", 0)
        checks.whole("step", self.step, 1, LAST_STEP)
        if self.ahead and self.bias_correction:
            raise ValueError("ahead: is defined without bias correction only")
        if self.second not in get_args(Second):
            raise ValueError(f"second: expected adam, yogi or adagrad, got {self.second!r:.80}")
        if self.second != "adam" and self.bias_correction:
            raise ValueError(f"second: {self.second} is defined without bias correction only")

    def _numbers(self) -> tuple[float, float, float, float, bool, int, bool, str]:
        correction, ahead = bool(self.bias_correction), bool(self.ahead)
        return self.rate, self.beta1, self.beta2, self.epsilon, correction, self.step, ahead, self.second


def _bound(clip: float | None) -> float:
    """Returns the bound of the gradient's norm, which is infinite without clipping."""
    if clip is None:
        return math.inf
    bound = checks.number("clip", clip)
    if not bound > 0:
        raise ValueError(f"clip: must be > 0 or None, got {bound:g}")
    return bound


def clip_sgd(x: Vector, g: Vector, rate: float, clip: float | None = None, *, isa: str = "") -> tuple[float, float]:
    """Makes the step x -= rate factor g in place, with factor = min(1, clip / |g|_2).

    Without `clip` an element that is not finite stays in its place. With it, a NaN makes all of x
    NaN, and an infinity makes the factor 0 and its own element NaN.

    Parameters
    ----------
    x : array (d,)
        The model, float32 or float64, which is overwritten.
    g : array (d,)
        The gradient, of the same dtype.
    rate : float
        The rate of the step.
    clip : float, optional
        The largest norm of the gradient, > 0. None does not clip.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Returns
    -------
    norm : float
        The gradient's norm before clipping.
    factor : float
        The factor of the gradient.

    Raises
    ------
    TypeError
        An array has a wrong dtype, shape or layout.
    ValueError
        Arrays overlap, the rate is not finite, or `clip` is not > 0.
    """
    checks.within("rate", rate, "finite")
    if device := checks.device_of(x, isa):
        return cast(tuple[float, float], Awaited(device.later.clip_sgd(x, g, rate, clip)))
    return _core.clip_sgd(checks.array("x", x, "(d,)"), g, rate, _bound(clip), isa)


def clip_adam(
    x: Vector, m: Vector, v: Vector, g: Vector, rule: AdamRule, clip: float | None = None, *, isa: str = ""
) -> tuple[float, float]:
    """Makes a step of Adam with the clipped gradient g' = factor g, in place.

        m = beta1 m + (1 - beta1) g', v = beta2 v + (1 - beta2) g'^2
        x -= rate (m / (1 - beta1^t)) / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)

    Without bias correction both divisors 1 - beta^t are 1. The rule's `second` may put another
    rule in the place of v's. The factor, and NaN, are as in `clip_sgd`.

    Parameters
    ----------
    x : array (d,)
        The model, float32 or float64, which is overwritten.
    m : array (d,)
        The first moment, of the same dtype, which is overwritten.
    v : array (d,)
        The second moment, of the same dtype, which is overwritten.
    g : array (d,)
        The gradient, of the same dtype.
    rule : AdamRule
        The numbers of the step.
    clip : float, optional
        The largest norm of the gradient, > 0. None does not clip.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Returns
    -------
    norm : float
        The gradient's norm before clipping.
    factor : float
        The factor of the gradient.

    Raises
    ------
    TypeError
        An array has a wrong dtype, shape or layout.
    ValueError
        Arrays overlap, or `clip` is not > 0.
    """
    if device := checks.device_of(x, isa):
        return cast(tuple[float, float], Awaited(device.later.clip_adam(x, m, v, g, rule, clip)))
    return _core.clip_adam(checks.array("x", x, "(d,)"), (m, v), g, rule._numbers(), _bound(clip), isa)


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
    """Makes the server step of FedAdam and FADAS in one pass, in place [FADAS, Alg. 1].

        m = beta1 m + (1 - beta1) D, v = beta2 v + (1 - beta2) D^2
        vhat = max(vhat, v), u = vhat if use_maximum else v
        x += rate (m / (1 - beta1^t)) / (sqrt(u) / sqrt(1 - beta2^t) + epsilon)

    Without bias correction both divisors 1 - beta^t are 1. The maximum is that of the uncorrected
    v. The rule's `second` may put another rule in the place of v's [FedYogi, FedAdagrad].

    Parameters
    ----------
    x : array (d,)
        The model, float32 or float64, which is overwritten.
    m : array (d,)
        The first moment, of the same dtype, which is overwritten.
    v : array (d,)
        The second moment, of the same dtype, which is overwritten.
    vhat : array (d,) or None
        The largest second moment so far. It is kept up to date wherever it is given, and may be
        None if use_maximum is False.
    direction : array (d,)
        D, of the same dtype.
    rule : AdamRule
        The numbers of the step.
    use_maximum : bool
        Whether the step divides by the root of vhat, or of v.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Raises
    ------
    TypeError
        An array has a wrong dtype, shape or layout.
    ValueError
        Arrays overlap.
    """
    if device := checks.device_of(x, isa):
        device.later.adaptive_step(x, m, v, vhat, direction, rule, use_maximum=use_maximum)
        return
    moments = (m, v) if vhat is None else (m, v, vhat)
    _core.adaptive_step(checks.array("x", x, "(d,)"), moments, direction, rule._numbers(), use_maximum, isa)


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
) -> None:
    """Makes `adaptive_step` with D = weighted_sum(weights, vectors) and the same bits, without
    memory for D.

    Parameters
    ----------
    x : array (d,)
        The model, float32 or float64, which is overwritten.
    m : array (d,)
        The first moment, of the same dtype, which is overwritten.
    v : array (d,)
        The second moment, of the same dtype, which is overwritten.
    vhat : array (d,) or None
        As in `adaptive_step`.
    weights : float64 array (K,) or sequence of float
        The weights of the sum.
    vectors : array (K, d), or K arrays (d,)
        The vectors of the sum, of the same dtype, K >= 1.
    rule : AdamRule
        The numbers of the step.
    use_maximum : bool
        As in `adaptive_step`.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Raises
    ------
    TypeError
        An array has a wrong dtype, shape or layout.
    ValueError
        There is no vector, the numbers of weights and vectors differ, or arrays overlap.
    """
    if device := checks.device_of(x, isa):
        factors = checks.weights(weights)
        device.later.sum_adaptive_step(x, m, v, vhat, factors, vectors, rule, use_maximum=use_maximum)
        return
    checks.array("x", x, "(d,)")
    checks.count(vectors)
    moments = (m, v) if vhat is None else (m, v, vhat)
    factors = checks.weights(weights)
    _core.sum_adaptive_step(x, moments, factors, vectors, rule._numbers(), use_maximum, isa)
