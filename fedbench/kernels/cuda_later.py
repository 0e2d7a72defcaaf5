"""The functions of fedbench.kernels.cuda, which wait for nothing.

A call returns when the stream has its work, and copies nothing to the host. What the others return
as numbers is a float64 `DeviceArray` here, whose `tolist()` waits and returns them. Bits, checks
and errors are the same, but what fails on the device is told by a call that comes later. Arguments
and results are the stream's until it has done its work: use them on this stream, or wait for it.
"""

from __future__ import annotations

from typing import Literal

import numpy.typing as npt

from fedbench.kernels.cuda import Data, DeviceArray, Stream, _factors, _moments
from fedbench.kernels.distill import TeacherKind, is_given
from fedbench.kernels.optimise import AdamRule, _bound

from fedbench import _cuda  # isort: skip  (after the import that says how to get it)

__all__ = [
    "adaptive_step",
    "clip_adam",
    "clip_sgd",
    "distill_gradient",
    "dot",
    "movement",
    "sum_adaptive_step",
    "update_cache",
    "weighted_sum",
    "weighted_sum_norm",
]


def weighted_sum(weights: npt.ArrayLike, vectors: Data, *, out: Data | None = None, stream: Stream = None) -> Data:
    """Returns the sum (d,)."""
    return _cuda.weighted_sum(_factors(weights), vectors, out, stream, norm=False, later=True)[0]


def weighted_sum_norm(
    weights: npt.ArrayLike, vectors: Data, *, out: Data | None = None, stream: Stream = None
) -> tuple[Data, DeviceArray]:
    """Returns the sum, and its squared L2 norm (1,)."""
    return _cuda.weighted_sum(_factors(weights), vectors, out, stream, later=True)


def dot(a: Data, b: Data, *, stream: Stream = None) -> DeviceArray:
    """Returns the product (1,)."""
    return _cuda.dot(a, b, stream, later=True)


def movement(x: Data, base: Data, delta: Data, *, stream: Stream = None) -> DeviceArray:
    """Returns the four numbers of Movement (4,)."""
    return _cuda.movement(x, base, delta, stream, later=True)


def clip_sgd(x: Data, g: Data, rate: float, clip: float | None = None, *, stream: Stream = None) -> DeviceArray:
    """Returns norm and factor (2,)."""
    return _cuda.clip_sgd(x, g, rate, _bound(clip), stream, later=True)


def clip_adam(
    x: Data, m: Data, v: Data, g: Data, rule: AdamRule, clip: float | None = None, *, stream: Stream = None
) -> DeviceArray:
    """Returns norm and factor (2,)."""
    return _cuda.clip_adam(x, (m, v), g, rule._numbers(), _bound(clip), stream, later=True)


def adaptive_step(
    x: Data,
    m: Data,
    v: Data,
    vhat: Data | None,
    direction: Data,
    rule: AdamRule,
    *,
    use_maximum: bool = True,
    stream: Stream = None,
) -> None:
    """Makes the adaptive server step in place."""
    _cuda.adaptive_step(x, _moments(m, v, vhat), direction, rule._numbers(), use_maximum, stream, later=True)


def sum_adaptive_step(
    x: Data,
    m: Data,
    v: Data,
    vhat: Data | None,
    weights: npt.ArrayLike,
    vectors: Data,
    rule: AdamRule,
    *,
    use_maximum: bool = True,
    stream: Stream = None,
) -> None:
    """Makes `adaptive_step` with the weighted sum."""
    _cuda.sum_adaptive_step(x, _moments(m, v, vhat), _factors(weights), vectors, rule._numbers(), use_maximum, stream, later=True)


def update_cache(
    weights: npt.ArrayLike,
    vectors: Data,
    rows: list[Data],
    total: Data,
    scale: float,
    *,
    order: Literal["deferred", "immediate", "newest"] = "deferred",
    out: Data | None = None,
    stream: Stream = None,
) -> Data:
    """Returns the mean (d,)."""
    return _cuda.update_cache(_factors(weights), vectors, rows, total, scale, order, out, stream, later=True)


def distill_gradient(
    student: Data,
    teacher: Data,
    alpha_min: float,
    alpha_max: float,
    *,
    kind: TeacherKind = "logits",
    out: Data | None = None,
    stream: Stream = None,
) -> Data:
    """Returns the gradient (B, C)."""
    arrays = False if out is None else (out,)
    _, (grad,) = _cuda.distill(student, teacher, alpha_min, alpha_max, arrays, is_given(kind), stream, later=True)
    return grad
