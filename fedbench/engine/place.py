"""Where the server's vectors lie, and so where its step computes: on the host, or on the device of
the trainer. The bits are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self, cast

import numpy as np

from fedbench.engine.isolation.algorithm import Isolated
from fedbench.engine.trainers.base import Backend
from fedbench.engine.trainers.choose import CPU, Choice
from fedbench.errors import FedbenchError, NoCudaError
from fedbench.kernels import checks
from fedbench.protocols import Algorithm
from fedbench.types import Array
from fedbench.types.arrays import Kernels, OnDevice, is_array

Place = Callable[[Array], Array]
"""Returns the array as it is, or a copy on a device."""


def on_host(array: Array) -> Array:
    return array


class Form(NamedTuple):
    """What a run's model stays from version to version."""

    dtype: np.dtype
    shape: tuple[int, ...]
    on_device: bool

    @classmethod
    def of(cls, x: Array) -> Self:
        return cls(x.dtype, x.shape, isinstance(x, OnDevice))

    def check(self, where: str, x: object) -> None:
        """Raises FedbenchError unless the model has this form."""
        if not is_array(x) or Form.of(x) != self:
            raise FedbenchError(
                f"{where}: x must stay {self.dtype} {self.shape}{' on a CUDA device' if self.on_device else ''}, got "
                f"{checks.describe(x)}; a numpy float64 scalar times a float32 vector gives float64: use Python floats"
            )


def server_place(choice: Choice, algorithm: Algorithm) -> Place:
    """Returns what puts the server's vectors on the choice's device. They stay on the host without
    one, without the CUDA kernels in this installation, and of an algorithm in a process of its own,
    which has no device."""
    if choice.device == CPU or isinstance(algorithm, Isolated):
        return on_host
    try:
        from fedbench.kernels import cuda, cuda_later
    except NoCudaError:
        return on_host
    return device_place(choice.device, Kernels(cuda, cuda_later))


def device_place(device: str, kernels: Kernels) -> Place:
    """Returns what puts arrays on a device of torch; `kernels` compute with them."""
    import torch

    from fedbench.engine.trainers.torch.arrays import TensorArray

    return lambda array: cast(Array, TensorArray(torch.tensor(array, device=device), kernels))


def computed_on(backend: Backend, choice: Choice, algorithm: Algorithm) -> dict[str, object]:
    """Returns for the record the kinds of device of the trainer and, if it is not the CPU, of the
    server's step; and the name of a GPU, and its lanes."""
    if backend.device == CPU:
        return {"device": CPU}
    from fedbench.engine.trainers.torch.device import name_of

    server = "" if server_place(choice, algorithm) is on_host else backend.device
    return {"device": backend.device, "server_device": server, "gpu": name_of(choice.device), "lanes": backend.lanes}
