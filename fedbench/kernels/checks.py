"""Checks of arguments that all kernels share. An argument is taken as it is or refused by name; it
is never cast, copied or guessed.

An array is a plain numpy array, C-contiguous and aligned, of this machine's byte order. np.matrix,
masked arrays and other subclasses are refused, since a kernel reads nothing but the memory. The
extension checks the same, and calls `describe` for its messages (csrc/bindings/arrays.hpp).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NoReturn, TypeGuard

import numpy as np
import numpy.typing as npt

from fedbench.types import Array, Vector, Weights
from fedbench.types.arrays import Kernels, OnDevice

Rows = Vector | Sequence[Vector]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def describe(value: object) -> str:
    """Returns dtype, shape and layout of an array, such as `float64 (3, 4) not C-contiguous` or
    `MaskedArray float32 (3,)`, and the type's name of anything else."""
    if isinstance(value, OnDevice):
        return f"{value.dtype} {value.shape} on a CUDA device"  # type: ignore[attr-defined]
    if not isinstance(value, np.ndarray):
        return type(value).__name__ + (" on a CUDA device" if hasattr(value, "__cuda_array_interface__") else "")
    kind = "" if type(value) is np.ndarray else f"{type(value).__name__} "
    layout = "" if value.flags.c_contiguous else " not C-contiguous"
    return f"{kind}{value.dtype} {value.shape}{layout}{'' if value.flags.aligned else ' not aligned'}"


def brief(value: object) -> str:
    """Returns a value for a message, in one line of at most 60 characters. An array is
    described."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    text = " ".join((describe(value) if isinstance(value, np.ndarray) else repr(value)).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def refuse(name: str, wanted: str, value: object) -> NoReturn:
    """Raises the TypeError `name: expected .., got ..`."""
    raise TypeError(f"{name}: expected {wanted}, got {describe(value)}")


def is_plain(value: object) -> TypeGuard[Array]:
    """Returns whether the value is a plain numpy array, C-contiguous and aligned."""
    return type(value) is np.ndarray and (flags := value.flags).c_contiguous and flags.aligned


def array(name: str, value: object, shape: str, dtypes: Sequence[np.dtype] = FLOATS) -> Array:
    """Returns the value if it is a plain array of one of the dtypes, with as many axes as `shape`,
    such as `(B, C)`, has letters. Otherwise raises a TypeError."""
    if not is_plain(value) or value.ndim != _axes(shape) or value.dtype not in dtypes:
        refuse(name, f"{' or '.join(map(str, dtypes))} {shape} C-contiguous", value)
    return value


@functools.cache
def _axes(shape: str) -> int:
    return sum(letter.isalpha() for letter in shape)


def device_of(value: object, isa: str = "") -> Kernels | None:
    """Returns the kernels of an array on a device, and None for anything else. ValueError if an
    instruction set of the host is asked for."""
    if not isinstance(value, OnDevice):
        return None
    if isa:
        raise ValueError(f"isa: expected none for arrays on a device, got {isa!r:.80}")
    return value.kernels


def count(vectors: object) -> int:
    """Returns the number K >= 1 of vectors in an array (K, d) or a sequence of K vectors."""
    if isinstance(vectors, np.ndarray):
        array("vectors", vectors, "(K, d)")
    elif isinstance(vectors, OnDevice):
        pass  # its kernels check it
    elif not isinstance(vectors, Sequence) or isinstance(vectors, str | bytes):
        refuse("vectors", "a (K, d) array or a sequence of K vectors", vectors)
    if len(vectors) == 0:  # type: ignore[arg-type]
        raise ValueError("vectors: expected at least one vector, got none")
    return len(vectors)  # type: ignore[arg-type]


def first_of(vectors: Rows) -> Vector:
    """Returns the first of K >= 1 vectors, which has the dtype and the length of all."""
    count(vectors)
    first = vectors[0]
    return first if isinstance(vectors, np.ndarray) or isinstance(first, OnDevice) else array("vectors[0]", first, "(d,)")


def weights(values: object) -> Weights:
    """Returns weights (K,), given as a float64 array or as a list or tuple of numbers."""
    if isinstance(values, list | tuple):
        return np.array([number(f"weights[{k}]", value) for k, value in enumerate(values)], np.float64)
    return array("weights", values, "(K,)", (np.dtype(np.float64),))


def number(name: str, value: object) -> float:
    """Returns a real number, which may be NaN or infinite."""
    if type(value) is float:  # the usual case; the smallest kernels take microseconds
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        refuse(name, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}: expected a number below 1.8e308, got a larger integer") from None


def within(name: str, value: object, wanted: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Returns a finite number with low <= number < high. The ValueError for another one says what
    was `wanted`."""
    checked = number(name, value)
    if not (math.isfinite(checked) and low <= checked < high):
        raise ValueError(f"{name}: must be {wanted}, got {checked:g}")
    return checked


def is_whole(value: object) -> TypeGuard[int]:
    """Returns whether a value is a whole number, of Python or of NumPy."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole(name: str, value: object, low: int, high: int) -> int:
    """Returns an integer with low <= integer <= high."""
    if not is_whole(value):
        refuse(name, "a whole number", value)
    if not low <= value <= high:
        raise ValueError(f"{name}: must be a whole number between {low} and {high}, got {brief(value)}")
    return int(value)


def integers(name: str, values: object) -> npt.NDArray[np.int64]:
    """Returns integers (n,), given as an array of any integer dtype or a list or tuple."""
    found = np.array(values) if isinstance(values, list | tuple) else values
    empty = isinstance(values, list | tuple) and len(values) == 0
    if type(found) is not np.ndarray or found.ndim != 1 or (found.dtype.kind not in "iu" and not empty):
        refuse(name, "integers (n,)", found)
    return found.astype(np.int64)
