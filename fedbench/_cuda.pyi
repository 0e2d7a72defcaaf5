"""Types of the extension for a GPU, which is built with -DFEDBENCH_CUDA=ON only; `Any` is an array of any library."""

from typing import Any

import numpy as np
import numpy.typing as npt

architectures: str

class DeviceArray:
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...

def weighted_sum(
    weights: npt.NDArray[np.float64], vectors: Any, out: Any = None, stream: int | None = None
) -> tuple[Any, float]: ...
def dot(a: Any, b: Any, stream: int | None = None) -> float: ...
def movement(x: Any, base: Any, delta: Any, stream: int | None = None) -> tuple[float, float, float, float]: ...
def clip_sgd(x: Any, g: Any, rate: float, bound: float, stream: int | None = None) -> tuple[float, float]: ...
def clip_adam(
    x: Any,
    moments: tuple[Any, ...],
    g: Any,
    rule: tuple[float, float, float, float, bool, int, bool, str],
    bound: float,
    stream: int | None = None,
) -> tuple[float, float]: ...
def adaptive_step(
    x: Any,
    moments: tuple[Any, ...],
    direction: Any,
    rule: tuple[float, float, float, float, bool, int, bool, str],
    use_maximum: bool,
    stream: int | None = None,
) -> None: ...
def sum_adaptive_step(
    x: Any,
    moments: tuple[Any, ...],
    weights: npt.NDArray[np.float64],
    vectors: Any,
    rule: tuple[float, float, float, float, bool, int, bool, str],
    use_maximum: bool,
    stream: int | None = None,
) -> float: ...
def update_cache(
    weights: npt.NDArray[np.float64],
    vectors: Any,
    rows: Any,
    sum: Any,
    scale: float,
    order: str,
    out: Any = None,
    stream: int | None = None,
) -> Any: ...
def distill(
    student: Any,
    teacher: Any,
    alpha_min: float,
    alpha_max: float,
    out: tuple[Any, ...] | bool,
    probabilities: bool = False,
    stream: int | None = None,
) -> tuple[float, float, float, tuple[Any, ...]]: ...
