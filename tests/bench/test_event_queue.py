"""The hold model in C++ against heapq: same times, same order, ties included; what the front door
refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.bench.event_queue import Events, inputs, reference
from fedbench.kernels.probe import Hold, read_rows


@pytest.mark.parametrize("span", [3, 1 << 40])
@pytest.mark.parametrize("n", [1, 2, 7, 300])
def test_equals_heapq(n: int, span: int) -> None:
    rng = np.random.default_rng(n)
    given = Events(rng.integers(0, span, n), rng.integers(0, span, 3000))
    want = reference(given)
    assert Hold(given.times).run(given.increments) == (want["time"], want["order"])


def test_the_order_matters_for_the_checksum() -> None:
    given = inputs(50)
    assert Hold(given.times).run(given.increments)[1] != Hold(given.times[::-1].copy()).run(given.increments)[1]


@pytest.mark.parametrize(
    ("times", "increments", "error", "message"),
    [
        ([], [], ValueError, "times: expected at least one event"),
        ([-1], [], ValueError, r"times: expected nanoseconds in \[0, 2\^62\)"),
        ([0], [1, -1], ValueError, r"increments: expected nanoseconds in \[0, 2\^62\)"),
        ([0], [1 << 62], ValueError, "increments"),
        ([0.5], [], TypeError, r"times: expected int64 \(d,\) C-contiguous, got float64 \(1,\)"),
    ],
)
def test_refuses(times: list[Any], increments: list[int], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Hold(np.array(times, np.float64 if any(isinstance(t, float) for t in times) else np.int64)).run(
            np.array(increments, np.int64)
        )


def test_read_rows() -> None:
    rows = np.random.default_rng(0).standard_normal((3, 1300), np.float32)
    assert read_rows(rows) == np.bitwise_xor.reduce(rows.view(np.uint32), axis=None)
    with pytest.raises(TypeError, match=r"vectors: expected float32 \(K, d\) C-contiguous, got float64"):
        read_rows(rows.astype(np.float64))  # type: ignore[arg-type]
