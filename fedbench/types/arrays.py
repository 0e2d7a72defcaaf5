"""Names for the kinds of arrays that the package passes around."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of any dtype and shape."""
Vector = npt.NDArray[np.floating]
"""A model-sized array (d,), C-contiguous, of the run's dtype: float32, or float64 in theory and
conformance."""
Weights = npt.NDArray[np.float64]
"""A float64 array (N,) or (K,) with a number for every client or every entry of an update."""
Integers = npt.NDArray[np.integer]
"""An array (N,) or (K,) of whole numbers of any integer dtype."""


class Kernels(NamedTuple):
    """The modules that compute with arrays on a device: fedbench.kernels.cuda, which waits for
    numbers, and fedbench.kernels.cuda_later, which waits for nothing."""

    now: Any
    later: Any


class OnDevice:
    """An array in a device's memory that stands in for numpy's: the names of numpy that algorithms
    use mean the same on it."""

    kernels: Kernels

    def host(self) -> Array:
        """Returns a copy in the host's memory, to which there is no other way."""
        raise NotImplementedError


def is_array(value: object) -> TypeGuard[Array]:
    """Returns whether the value is an array, of the host or on a device."""
    return isinstance(value, np.ndarray | OnDevice)


def host(array: Array) -> Array:
    """Returns an array of the host as it is, and a copy of one on a device."""
    return array.host() if isinstance(array, OnDevice) else array
