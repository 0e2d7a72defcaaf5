"""Types of the extension for a GPU, which is built with -DFEDBENCH_CUDA=ON only; `Any` is an array of any library."""

from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Rule = tuple[float, float, float, float, bool, int, bool, str]
Stream = int | None

architectures: str

class DeviceArray:
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    def tolist(self) -> list[float]: ...

@overload
def weighted_sum(weights: Doubles, vectors: Any, out: Any, stream: Stream) -> tuple[Any, float]: ...
@overload
def weighted_sum(weights: Doubles, vectors: Any, out: Any, stream: Stream, *, later: Literal[True]) -> tuple[Any, DeviceArray]: ...
@overload
def weighted_sum(
    weights: Doubles, vectors: Any, out: Any, stream: Stream, *, norm: Literal[False], later: bool = False
) -> tuple[Any, None]: ...
@overload
def dot(a: Any, b: Any, stream: Stream) -> float: ...
@overload
def dot(a: Any, b: Any, stream: Stream, *, later: Literal[True]) -> DeviceArray: ...
@overload
def movement(x: Any, base: Any, delta: Any, stream: Stream) -> tuple[float, float, float, float]: ...
@overload
def movement(x: Any, base: Any, delta: Any, stream: Stream, *, later: Literal[True]) -> DeviceArray: ...
@overload
def clip_sgd(x: Any, g: Any, rate: float, bound: float, stream: Stream) -> tuple[float, float]: ...
@overload
def clip_sgd(x: Any, g: Any, rate: float, bound: float, stream: Stream, *, later: Literal[True]) -> DeviceArray: ...
@overload
def clip_adam(x: Any, moments: tuple[Any, ...], g: Any, rule: Rule, bound: float, stream: Stream) -> tuple[float, float]: ...
@overload
def clip_adam(
    x: Any, moments: tuple[Any, ...], g: Any, rule: Rule, bound: float, stream: Stream, *, later: Literal[True]
) -> DeviceArray: ...
def adaptive_step(
    x: Any, moments: tuple[Any, ...], direction: Any, rule: Rule, use_maximum: bool, stream: Stream, *, later: bool = False
) -> None: ...
def sum_adaptive_step(
    x: Any,
    moments: tuple[Any, ...],
    weights: Doubles,
    vectors: Any,
    rule: Rule,
    use_maximum: bool,
    stream: Stream,
    *,
    later: bool = False,
) -> None: ...
def update_cache(
    weights: Doubles,
    vectors: Any,
    rows: Any,
    sum: Any,
    scale: float,
    order: str,
    out: Any,
    stream: Stream,
    *,
    later: bool = False,
) -> Any: ...
@overload
def distill(
    student: Any, teacher: Any, alpha_min: float, alpha_max: float, out: tuple[Any, ...] | bool, probabilities: bool, stream: Stream
) -> tuple[tuple[float, float, float], tuple[Any, ...]]: ...
@overload
def distill(
    student: Any,
    teacher: Any,
    alpha_min: float,
    alpha_max: float,
    out: tuple[Any, ...] | bool,
    probabilities: bool,
    stream: Stream,
    *,
    later: Literal[True],
) -> tuple[DeviceArray, tuple[Any, ...]]: ...
