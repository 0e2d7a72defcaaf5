"""The kernels on a GPU, with the names and signatures of fedbench.kernels. They have a parameter
`stream` in the place of `isa`.

Arrays may come from any library with DLPack or `__cuda_array_interface__` (torch CUDA tensors,
CuPy, Numba). They are float32 or float64, C-contiguous, and all on one device. Weights are numpy
arrays on the host. Other numpy arrays are refused here, as device arrays are refused by
fedbench.kernels: `x: expected float32 (d,) C-contiguous on a CUDA device, got float32 (3,) on the
CPU`. Without `out` a result is a `DeviceArray`, which other libraries read without a copy:
`torch.as_tensor(result)`.

An array that is written must say that it may be: by DLPack 1.0, or by `__cuda_array_interface__`. A
read-only one is refused, and so is one whose library knows only an older DLPack, which has no word
for it, and not the other interface.

Results have the bits of the CPU (csrc/include/fedbench/cuda.hpp), but for the sign and payload of a
NaN.

A call runs on `stream`, a handle such as `torch.cuda.Stream.cuda_stream`. The default is torch's
current stream if the first array is a tensor of torch, that of the call if it is a result of
`fedbench.kernels.cuda_later`, and else the legacy default stream. The call
returns when the stream has finished, so results may be used on any stream.
`fedbench.kernels.cuda_later` has the same functions, which wait for nothing. The memory of a
`DeviceArray` goes back in the order of its stream's work, so another stream that reads one keeps it
until it has done so.

Before a call begins, it waits for its arrays. DLPack is preferred, which does this. Of an array
with the other interface alone, the call waits for the stream that the array names, and takes the
array to be finished if it names none.

Errors are those of fedbench.kernels, and CudaError, which names the kernel or the call that failed.
Importing this module without the extension is a NoCudaError (an ImportError).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from fedbench.errors import NoCudaError
from fedbench.kernels.accumulate import Movement
from fedbench.kernels.distill import Distilled, TeacherKind, is_given
from fedbench.kernels.optimise import AdamRule, _bound

try:
    from fedbench._cuda import DeviceArray
except ModuleNotFoundError as error:
    raise NoCudaError(
        "fedbench.kernels.cuda: this installation was built without CUDA; install with "
        "--config-settings=cmake.define.FEDBENCH_CUDA=ON (see CONTRIBUTING, 'Build for a GPU')"
    ) from error
from fedbench import _cuda

__all__ = [
    "DeviceArray",
    "Distilled",
    "adaptive_step",
    "clip_adam",
    "clip_sgd",
    "distill",
    "distill_gradient",
    "dot",
    "movement",
    "norm",
    "sum_adaptive_step",
    "update_cache",
    "weighted_sum",
    "weighted_sum_norm",
]

Data = object  # an array of any library on a CUDA device; a result is a DeviceArray unless there was an `out`
Stream = int | None


def weighted_sum(weights: npt.ArrayLike, vectors: Data, *, out: Data | None = None, stream: Stream = None) -> Data:
    """Returns sum_k w_k v_k (d,) of `vectors` (K, d) or K vectors (d,), as
    fedbench.kernels.weighted_sum."""
    return _cuda.weighted_sum(_factors(weights), vectors, out, stream, norm=False)[0]


def weighted_sum_norm(
    weights: npt.ArrayLike, vectors: Data, *, out: Data | None = None, stream: Stream = None
) -> tuple[Data, float]:
    """Returns the weighted sum and its squared L2 norm (float64)."""
    return _cuda.weighted_sum(_factors(weights), vectors, out, stream)


def dot(a: Data, b: Data, *, stream: Stream = None) -> float:
    """Returns sum_i a_i b_i in float64, of a and b (d,) of one dtype."""
    return _cuda.dot(a, b, stream)


def norm(a: Data, *, stream: Stream = None) -> float:
    """Returns the L2 norm in float64."""
    return math.sqrt(dot(a, a, stream=stream))


def movement(x: Data, base: Data, delta: Data, *, stream: Stream = None) -> Movement:
    """Returns what fedbench.kernels.movement does."""
    return Movement(*_cuda.movement(x, base, delta, stream))


def clip_sgd(x: Data, g: Data, rate: float, clip: float | None = None, *, stream: Stream = None) -> tuple[float, float]:
    """Makes the step x -= rate factor g in place, as fedbench.kernels.clip_sgd. Returns the norm
    before clipping and the factor."""
    return _cuda.clip_sgd(x, g, rate, _bound(clip), stream)


def clip_adam(
    x: Data, m: Data, v: Data, g: Data, rule: AdamRule, clip: float | None = None, *, stream: Stream = None
) -> tuple[float, float]:
    """Makes a step of Adam with the clipped gradient in place, as fedbench.kernels.clip_adam.
    Returns the norm before clipping and the factor."""
    return _cuda.clip_adam(x, (m, v), g, rule._numbers(), _bound(clip), stream)


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
    """Makes the adaptive server step in place, as fedbench.kernels.adaptive_step."""
    _cuda.adaptive_step(x, _moments(m, v, vhat), direction, rule._numbers(), use_maximum, stream)


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
    """Makes `adaptive_step` with D = weighted_sum(weights, vectors), in one pass."""
    _cuda.sum_adaptive_step(x, _moments(m, v, vhat), _factors(weights), vectors, rule._numbers(), use_maximum, stream)


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
    """Replaces the rows of K arrivals in a cache and returns its mean.

    calibrated_mean and newest_mean of fedbench.kernels do this with a table. cache.hpp states the
    arithmetic.

    Parameters
    ----------
    weights : array_like (K,)
        The weights; empty for the order "newest".
    vectors : array (K, d), or K arrays (d,)
        What arrived.
    rows : list of array (d,)
        The cache's rows of the K arrivals, which are overwritten. The row of a client that arrives
        again is repeated.
    total : float64 array (d,)
        The sum of all rows, which is overwritten.
    scale : float
        1 / divisor.
    order : {"deferred", "immediate", "newest"}
        "newest" is newest_mean; the others are the values of `cache` of calibrated_mean.
    out : array (d,), optional
        Receives the result.
    stream : int, optional
        As for all kernels of this module.

    Returns
    -------
    array (d,)
        The mean v.
    """
    return _cuda.update_cache(_factors(weights), vectors, rows, total, scale, order, out, stream)


def distill(
    student: Data,
    teacher: Data,
    alpha_min: float,
    alpha_max: float,
    *,
    kind: TeacherKind = "logits",
    out: Distilled | None = None,
    stream: Stream = None,
) -> Distilled:
    """Returns loss and gradient of one batch (B, C), as fedbench.kernels.distill, in device
    arrays."""
    arrays = True if out is None else (out.grad, out.probabilities, out.label, out.entropy, out.kl, out.ce)
    (loss, relative, alpha), written = _cuda.distill(student, teacher, alpha_min, alpha_max, arrays, is_given(kind), stream)
    return Distilled(loss, relative, alpha, *written)


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
    """Returns the gradient of `distill` (B, C), and nothing else, as
    fedbench.kernels.distill_gradient."""
    arrays = False if out is None else (out,)
    _, (grad,) = _cuda.distill(student, teacher, alpha_min, alpha_max, arrays, is_given(kind), stream)
    return grad


def _factors(weights: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return np.ascontiguousarray(weights, np.float64)


def _moments(m: Data, v: Data, vhat: Data | None) -> tuple[Data, ...]:
    return (m, v) if vhat is None else (m, v, vhat)
