"""The server's cache of newest vectors: the reference's bits, what CA2FL and MIFA mean by it, and
what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fedbench.kernels import calibrated_mean, newest_mean
from fedbench.tables import ClientTable
from tests.kernels import reference

Array = npt.NDArray[Any]
CLIENTS = [3, 0, 3, 4, 0]


def filled(d: int, dtype: Any) -> tuple[ClientTable, Array]:
    """Five clients of which 1, 3 and 4 have reported, and five arrivals."""
    random = np.random.default_rng(d)
    table = ClientTable(5, np.zeros(d, dtype))
    for client in (1, 3, 4):
        table[client] = random.standard_normal(d).astype(dtype)
    return table, random.standard_normal((5, d)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 9, 2048, 5000])
@pytest.mark.parametrize("order", ["deferred", "immediate", "newest"])
def test_is_the_reference(isa: str, order: Any, d: int, dtype: Any) -> None:
    table, arrivals = filled(d, dtype)
    w = [0.2, -1.0, 0.5, 0.3, 0.7]
    want = reference.update_cache(order, w, list(arrivals), CLIENTS, table.dense(), table.total, 1 / 5)
    if order == "newest":
        got = newest_mean(table, CLIENTS, arrivals, divisor=5, isa=isa)
    else:
        got = calibrated_mean(table, CLIENTS, arrivals, w, divisor=5, cache=order, isa=isa)
    for a, b in zip((got, table.dense(), table.total), want, strict=True):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes()
    assert table.count == 4


def test_ca2fl_by_hand() -> None:
    """h = [2, 0] of two clients, mean 1; arrivals 5 and 7 of client 0: v = 1 + ((5 - 2) + (7 - 2)) / 2 = 5, immediate 1 + 5 / 2."""
    for cache, v in (("deferred", 5.0), ("immediate", 3.5)):
        table = ClientTable(2, np.zeros(1))
        table[0] = np.array([2.0])
        got = calibrated_mean(table, [0, 0], [np.array([5.0]), np.array([7.0])], [0.5, 0.5], divisor=2, cache=cache)  # type: ignore[arg-type]
        assert got.tolist() == [v]
        assert (table[0].tolist(), table.total.tolist()) == ([7.0], [7.0])


def test_mifa_by_hand() -> None:
    """Rows [2, 0, 0]; client 2 reports 4: the mean over all is 2, over the two that have reported
    3."""
    for divisor, v in ((3, 2.0), (2, 3.0)):
        table = ClientTable(3, np.zeros(1))
        table[0] = np.array([2.0])
        assert newest_mean(table, [2], [np.array([4.0])], divisor=divisor).tolist() == [v]


def test_constant_vectors_give_their_mean_whoever_arrives() -> None:
    """The point of CA2FL: with every Delta_i constant in time, v is their mean for any set of
    arrivals."""
    constant = np.random.default_rng(0).standard_normal((4, 3))
    table = ClientTable(4, np.zeros(3))
    calibrated_mean(table, [0, 1, 2, 3], constant, np.full(4, 0.25), divisor=4)
    for arrivals in ([2], [0, 3], [1, 1, 2]):
        v = calibrated_mean(table, arrivals, constant[arrivals], np.full(len(arrivals), 1 / len(arrivals)), divisor=4)
        assert np.allclose(v, constant.mean(axis=0), rtol=1e-14)


T, ROW, WHOLE = ClientTable(3, np.zeros(4, np.float32)), np.ones(4, np.float32), ClientTable(2, np.zeros(3, int))
REFUSED: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (TypeError, r"table: expected rows of float32 or float64 \(d,\), got int64", lambda: newest_mean(WHOLE, [0], [ROW], divisor=1)),
    (TypeError, r"vectors\[0\]: expected float32 \(d,\)", lambda: newest_mean(T, [0], [np.ones(4)], divisor=1)),
    (ValueError, "vectors: expected one per client, got 1 for 2 clients", lambda: newest_mean(T, [0, 1], [ROW], divisor=1)),
    (ValueError, "divisor: must be a whole number", lambda: newest_mean(T, [0], [ROW], divisor=0)),
    (ValueError, "cache: expected deferred or immediate", lambda: calibrated_mean(T, [0], [ROW], [1.0], divisor=1, cache="x")),  # type: ignore[arg-type]
    (ValueError, "expected 1 weights and 1 rows for 1 vectors, got 2", lambda: calibrated_mean(T, [0], [ROW], [1.0, 2.0], divisor=1)),
    (ValueError, "one of the rows: must not overlap one of the vectors", lambda: newest_mean(T, [0], [T.open([0])[0]], divisor=1)),
    (IndexError, "client must be in 0 .. 2, got 3", lambda: newest_mean(T, [3], [ROW], divisor=1)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "message", "call"), REFUSED, ids=range(len(REFUSED)))
def test_refused(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=message):
        call()
