"""Messages between processes come back as they were sent, and whatever else comes is an error."""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fedbench.engine.isolation import wire
from fedbench.types import LocalRule, Rounds, Stream, Traffic

ARRAYS = hnp.arrays(st.sampled_from(sorted(wire.DTYPES)), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
PLAIN = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5) | ARRAYS
VALUES = st.recursive(
    PLAIN,
    lambda one: st.lists(one, max_size=3) | st.lists(one, max_size=3).map(tuple) | st.dictionaries(st.text(max_size=3), one),
    max_leaves=8,
)


@pytest.fixture(name="pair")
def _pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    other.settimeout(5)
    with one, other:
        yield one, other


def passed(value: Any) -> Any:
    one, other = socket.socketpair()
    with one, other:
        sender = threading.Thread(target=wire.send, args=(one, value))
        sender.start()
        found = wire.receive(other)
        sender.join()
    return found


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        alike = isinstance(other, np.ndarray) and (one.dtype, one.shape) == (other.dtype, other.shape)
        return alike and one.tobytes() == other.tobytes()
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and (one == other or (isinstance(one, float) and math.isnan(one)))


@given(VALUES)
def test_a_value_comes_back(value: Any) -> None:
    assert same(value, passed(value))


def test_what_algorithms_give_comes_back() -> None:
    for value in (Rounds(cohort_size=3), Stream(concurrency=2, routing=(0.5, 0.5)), Traffic(down=0.1)):
        assert passed(value) == value
    rule = passed(LocalRule(start=np.ones(3, np.float32), lr=np.float64(0.1), wants=("first_gradient",)))
    assert (type(rule.lr), rule.wants, rule.start.dtype) == (np.float64, ("first_gradient",), np.float32)


def test_a_stranger_is_not_sent(pair: tuple[socket.socket, socket.socket]) -> None:
    for value in (object(), {1: 2}, {"x": {1}}, [print], np.array([object()])):
        with pytest.raises((TypeError, ValueError)):
            wire.send(pair[0], value)


def framed(text: bytes, arrays: bytes = b"", size: int | None = None) -> bytes:
    return struct.pack(">QQ", len(text), len(arrays) if size is None else size) + text + arrays


def array(dtype: Any, *shape: Any) -> bytes:
    return json.dumps([{"array": 0}, [[dtype, list(shape)]]]).encode()


HOSTILE = {
    "nothing": b"",
    "half a head": b"\0" * 7,
    "a length of all memory": b"\xff" * 16,
    "arrays of all memory": framed(b"[null, []]", size=2**63),
    "no JSON": framed(b"{"),
    "no UTF-8": framed(b"\xff\xff"),
    "a number": framed(b"1"),
    "one part": framed(b"[1]"),
    "deep JSON": framed(b"[" * 100_000 + b"]" * 100_000),
    "a list without a kind": framed(b"[[1], []]"),
    "two kinds": framed(b'[{"list": [], "tuple": []}, []]'),
    "an unknown kind": framed(b'[{"Popen": {"args": "true"}}, []]'),
    "a kind with another field": framed(b'[{"Rounds": {"x": 1}}, []]'),
    "an array that is not there": framed(b'[{"array": 0}, []]'),
    "an array of objects": framed(array("object", 1), b"\0" * 8),
    "an array of another length": framed(array("float32", 2), b"\0" * 4),
    "an array of a negative length": framed(array("float32", -1), b""),
    "an array of true": framed(array("float32", True), b"\0" * 4),
    "an array with many sides": framed(array("float32", *[1] * 100), b"\0" * 4),
    "an array that overflows": framed(array("float32", *[2**40] * 4), b""),
    "a dtype that is a list": framed(array(["float32"], 1), b"\0" * 4),
    "a message that ends": framed(b"[null, []]")[:-1],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_no_message_is_an_error(pair: tuple[socket.socket, socket.socket], what: str) -> None:
    one, other = pair
    one.sendall(HOSTILE[what])
    one.close()
    with pytest.raises(wire.WireError):
        wire.receive(other)


def test_silence_is_an_error(pair: tuple[socket.socket, socket.socket]) -> None:
    with pytest.raises(wire.WireError, match="no answer in time"):
        wire.receive(pair[1], time.monotonic() + 0.05)


def test_a_message_that_comes_byte_by_byte_has_the_same_time(pair: tuple[socket.socket, socket.socket]) -> None:
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.02):
            pair[0].sendall(b"\0")

    dripping = threading.Thread(target=drip)
    dripping.start()
    with pytest.raises(wire.WireError, match="no answer in time"):
        wire.receive(pair[1], time.monotonic() + 0.1)
    stop.set()
    dripping.join()


def test_bytes_of_another_order_and_kinds_of_kinds() -> None:
    """Numbers stay what they are; a class of a plug-in's own comes back as the one that it
    extends."""
    assert passed(np.array([1.5, 2], ">f4")).tolist() == [1.5, 2]
    assert passed(range(3)) == [0, 1, 2]
    own = type("Own", (Rounds,), {})
    assert passed(own(cohort_size=3)) == Rounds(cohort_size=3)
