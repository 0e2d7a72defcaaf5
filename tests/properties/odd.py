"""Arguments as users get them wrong: every way of spoiling a plain array, for the front doors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.properties.worlds import cases

Array = npt.NDArray[Any]

PROFILE = cases(100)

REFUSAL = re.compile(r"[a-zA-Z_][\w\[\]., :]*: .*(expected|must)")


def other_dtype(array: Array) -> Array:
    return array.astype({"f4": np.float64, "f8": np.float32}.get(array.dtype.str[1:], np.float32))


def strided(array: Array) -> Array:
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def unaligned(array: Array) -> Array:
    memory = bytearray(1 + array.nbytes)
    shifted = np.frombuffer(memory, array.dtype, array.size, offset=1).reshape(array.shape)
    shifted[...] = array
    return shifted


def read_only(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


SPOILERS: dict[str, Callable[[Array], Any]] = {
    "other dtype": other_dtype,
    "half precision": lambda a: a.astype(np.float16),
    "integers": lambda a: a.astype(np.int16),
    "complex": lambda a: a.astype(np.complex128),
    "objects": lambda a: a.astype(object),
    "text": lambda a: a.astype(str),
    "big endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "strided": strided,
    "reversed": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "Fortran": lambda a: np.asfortranarray(np.stack([a, a])) if a.ndim == 1 else np.asfortranarray(a),
    "longer": lambda a: np.concatenate([a, a[-1:]], axis=0),
    "one axis more": lambda a: a[None],
    "one axis less": lambda a: a[0],
    "empty": lambda a: a[:0],
    "0-d": lambda a: np.array(a.flat[0]),
    "unaligned": unaligned,
    "matrix": lambda a: a.view(np.matrix),
    "masked": lambda a: np.ma.masked_array(a, mask=np.zeros(a.shape, bool)),
    "list": lambda a: a.tolist(),
    "None": lambda a: None,
    "a string": lambda a: "abc",
    "a set": lambda a: {1.0},
    "a number": lambda a: 1.5,
}


def is_spoiled(name: str, array: Array) -> bool:
    """Does the spoiler change this array at all?"""
    got = SPOILERS[name](array)
    return not (
        type(got) is np.ndarray
        and got.dtype == array.dtype
        and got.shape == array.shape
        and got.flags.c_contiguous
        and got.flags.aligned
    )


def snapshot(values: dict[str, Any]) -> dict[str, Any]:
    """What the arguments hold, to see whether a call changed them."""
    return {name: _content(value) for name, value in values.items()}


def _content(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes() if value.dtype != object else value.tolist()
    return [_content(item) for item in value] if isinstance(value, list) else repr(value)
