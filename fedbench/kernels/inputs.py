"""Conversions of the scheduler's inputs to the types of the core. A value that is no number, or
does not fit the core's integers, is refused by name. The core checks the ranges.

Everything is copied into the plan's own memory, so an array may have any layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fedbench.kernels import checks
from fedbench.types import Weights

NANOSECONDS = 1_000_000_000
LONGEST_SECONDS = 1e9
LARGEST = (1 << 31) - 1  # clients, steps and updates are counted in 32 bits

T = TypeVar("T")


def parameter(name: str, value: object) -> Weights:
    """Returns a parameter of a distribution as an array (1,) or (N,), and an empty one for None. It
    is given as a number, a list of numbers, or an array of float64 or integers."""
    if value is None:
        return np.empty(0)
    if isinstance(value, np.ndarray):
        if type(value) is not np.ndarray or value.ndim != 1 or not (value.dtype == np.float64 or value.dtype.kind in "iu"):
            checks.refuse(name, "a number, or float64 (N,)", value)
        return value.astype(np.float64)
    if isinstance(value, list | tuple):
        return np.array([checks.number(f"{name}[{i}]", item) for i, item in enumerate(value)], np.float64)
    return np.array([checks.number(name, value)])


def not_infinite(name: str, value: object) -> Weights:
    """Returns a parameter as `parameter` does, and refuses infinity, for which the core has no
    range."""
    values = parameter(name, value)
    if np.isinf(values).any():
        client = int(np.argmax(np.isinf(values)))
        raise ValueError(f"{name}: must be finite, got {values[client]} (client {client})")
    return values


def whole_numbers(name: str, value: object) -> npt.NDArray[np.int32]:
    """Returns local steps as an array (1,) or (N,). They are given as an integer, a list of
    integers or an array of any integer dtype."""
    found = np.atleast_1d(np.asanyarray(value))
    fits = type(found) is np.ndarray and found.ndim == 1 and found.dtype.kind in "iu" and found.size > 0
    wanted = f"{name}: expected whole numbers between 0 and {LARGEST}, one or one per client, got"
    if not fits:
        raise ValueError(f"{wanted} {checks.brief(value)}")
    wrong = np.flatnonzero((found < 0) | (found > LARGEST))
    if wrong.size:
        whose = f" (client {wrong[0]})" if found.size > 1 else ""
        raise ValueError(f"{wanted} {checks.brief(found[wrong[0]].item())}{whose}")
    return found.astype(np.int32)


def table(name: str, rows: object, entry: Callable[[str, object], T]) -> list[list[T]]:
    """Returns rows of different lengths, one per client or round. `entry` checks one number."""
    return [
        [entry(f"{name}[{i}][{k}]", value) for k, value in enumerate(sequence(f"{name}[{i}]", row))]
        for i, row in enumerate(sequence(name, rows))
    ]


def clients(name: str, numbers: object) -> list[int]:
    """Returns the numbers of several clients."""
    return [client(f"{name}[{i}]", number) for i, number in enumerate(sequence(name, numbers))]


def client(name: str, value: object) -> int:
    """Returns the number of a client. The core refuses those that do not exist."""
    return checks.whole(name, value, -LARGEST, LARGEST)


def size(name: str, value: object) -> int:
    """Returns a number of things."""
    return checks.whole(name, value, 0, LARGEST)


def sequence(name: str, value: object) -> Sequence[object]:
    """Returns a list or a tuple as it is, and an array with axes as a list of its rows."""
    if isinstance(value, np.ndarray) and value.ndim:
        return list(value)
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        checks.refuse(name, "a sequence", value)
    return value


def nanoseconds(name: str, value: object) -> int:
    """Returns virtual seconds as nanoseconds."""
    found = checks.number(name, value)
    if not abs(found) <= LONGEST_SECONDS:
        raise ValueError(f"{name}: must be between 0 and 1e9 seconds, got {found:g}")
    return round(found * NANOSECONDS)


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        checks.refuse(name, "true or false", value)
    return value


def mean_and_variance(name: str, value: object) -> tuple[float, float]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        checks.refuse(name, "(mean, variance)", value)
    return checks.number(f"{name}: mean", value[0]), checks.number(f"{name}: variance", value[1])
