"""Messages between the process that asks and the process of a plug-in. A message is JSON and
arrays, so whatever the other side sends is read as data:

    length of the JSON, 8 bytes | length of the arrays, 8 bytes | JSON | arrays
"""

from __future__ import annotations

import dataclasses
import socket
import struct
from json import dumps, loads  # by name, since a plug-in may have replaced what is in the modules
from math import prod
from time import monotonic
from typing import Any

import numpy as np
from numpy import asarray, ascontiguousarray, dtype, empty, uint8

from fedbench import types
from fedbench.strict_json import Json
from fedbench.types import Array

HEAD = struct.Struct(">QQ")
LARGEST_JSON, LARGEST_ARRAYS = 16 << 20, 1 << 30  # bytes
DTYPES = {dtype(code).name for code in "?efdFD" + np.typecodes["AllInteger"]}
KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(types.Rounds, types.Stream, types.Broadcast, types.Mailbox, types.Poll, types.Turns),
        *(types.Traffic, types.GradientWork, types.ServerWork, types.ServerMemory, types.LocalRule, types.Job),
    )
}


class WireError(Exception):
    """The other side sent what is no message, or nothing any more."""


def send(channel: socket.socket, value: object) -> None:
    """Sends a value. TypeError if it holds anything but arrays, the KINDS, numbers, text,
    None, and lists, tuples and dicts of them."""
    arrays: list[Array] = []
    tree = _packed(value, arrays)
    outlines = [[array.dtype.name, list(array.shape)] for array in arrays]
    text = dumps([tree, outlines]).encode()
    channel.sendall(HEAD.pack(len(text), sum(array.nbytes for array in arrays)) + text)
    for array in arrays:
        channel.sendall(ascontiguousarray(array).reshape(-1).view(uint8).data)


def receive(channel: socket.socket, until: float | None = None) -> Any:
    """Returns the value that was sent; its arrays are writeable. Raises WireError, also if it has
    not come whole at the time `until` of the monotonic clock."""
    length, size = HEAD.unpack(_read(channel, HEAD.size, until))
    if length > LARGEST_JSON or size > LARGEST_ARRAYS:
        raise WireError(f"a message of {length + size:,} bytes is too long")
    text = _read(channel, length, until)
    try:
        tree, outlines = loads(text)
        if any(kind not in DTYPES or not all(type(n) is int and n >= 0 for n in shape) for kind, shape in outlines):
            raise WireError("an array of it is none")
        if sum(prod(shape) * dtype(kind).itemsize for kind, shape in outlines) != size:
            raise WireError("its arrays are longer or shorter than it says")
        arrays = [_array(channel, kind, shape, until) for kind, shape in outlines]
        return _unpacked(tree, arrays)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, MemoryError) as error:
        raise WireError(f"{type(error).__name__}: {error}") from None


def _array(channel: socket.socket, kind: str, shape: list[int], until: float | None) -> Array:
    array = empty(shape, kind)
    _fill(channel, array.reshape(-1).view(uint8).data, until)
    return array


def _read(channel: socket.socket, count: int, until: float | None) -> bytes:
    found = bytearray(count)
    _fill(channel, memoryview(found), until)
    return bytes(found)


def _fill(channel: socket.socket, place: memoryview, until: float | None) -> None:
    while place:
        if until is not None:
            channel.settimeout(max(until - monotonic(), 1e-3))
        try:
            count = channel.recv_into(place)
        except TimeoutError:
            raise WireError("no answer in time") from None
        except OSError as error:
            raise WireError(str(error.strerror)) from None
        if count == 0:
            raise WireError("it has ended")
        place = place[count:]


def _packed(value: object, arrays: list[Array]) -> Json:
    if isinstance(value, np.ndarray | np.generic) and value.dtype.name in DTYPES:
        arrays.append(asarray(value).astype(value.dtype.newbyteorder("="), copy=False))
        return {"array" if isinstance(value, np.ndarray) else "scalar": len(arrays) - 1}
    kind = next((one for one in type(value).__mro__ if KINDS.get(one.__name__) is one), None)
    if kind is not None:
        names = getattr(kind, "_fields", None) or [field.name for field in dataclasses.fields(kind)]
        return {kind.__name__: {name: _packed(getattr(value, name), arrays) for name in names}}
    if isinstance(value, list | tuple | range):
        return {"tuple" if isinstance(value, tuple) else "list": [_packed(part, arrays) for part in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _packed(part, arrays) for key, part in value.items()}}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"cannot pass {type(value).__name__} between processes; it takes arrays, numbers, text, lists and dicts of them"
    )


def _unpacked(tree: Any, arrays: list[Array]) -> Any:
    if not isinstance(tree, dict):
        if not (tree is None or isinstance(tree, bool | int | float | str)):
            raise TypeError(f"expected a number or text, got {type(tree).__name__}")
        return tree
    ((kind, content),) = tree.items()
    if kind in ("array", "scalar"):
        return arrays[content] if kind == "array" else arrays[content][()]
    if kind in ("list", "tuple"):
        parts = [_unpacked(part, arrays) for part in content]
        return parts if kind == "list" else tuple(parts)
    named = {key: _unpacked(part, arrays) for key, part in content.items()}
    return named if kind == "dict" else KINDS[kind](**named)
