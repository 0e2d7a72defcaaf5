"""Updates of a server's cache, which has the newest vector of every client. Rows are replaced and
averaged in one pass over memory.

csrc/include/fedbench/cache.hpp states the arithmetic. The bits are the same on every instruction
set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import numpy as np

from fedbench import _core
from fedbench.kernels import checks
from fedbench.kernels.checks import Rows
from fedbench.tables import ClientTable
from fedbench.types import Integers, Vector, Weights

ORDERS = {
    "deferred": _core.CacheOrder.deferred,
    "immediate": _core.CacheOrder.immediate,
    "newest": _core.CacheOrder.newest,
}


def calibrated_mean(
    table: ClientTable,
    clients: Integers | Sequence[int],
    vectors: Rows,
    weights: Weights | Sequence[float],
    *,
    divisor: int,
    cache: Literal["deferred", "immediate"] = "deferred",
    isa: str = "",
) -> Vector:
    """Returns the mean of the cache, corrected by the arrivals, and then puts them into it [CA2FL].

    With the rows h before the call,

        v = (1/divisor) sum_c h_c + sum_k w_k (d_k - h_c(k))
        h_c(k) = d_k, in order

    Parameters
    ----------
    table : ClientTable
        The rows h (d,), one per client, float32 or float64.
    clients : integer array (K,) or sequence of int
        The clients c(k) of the arrivals, in order.
    vectors : array (K, d), or K arrays (d,)
        Their vectors d_k, of the table's dtype.
    weights : float64 array (K,) or sequence of float
        The weights w.
    divisor : int
        The number by which the sum of the rows is divided, >= 1.
    cache : {"deferred", "immediate"}
        With "immediate" a second arrival of a client subtracts the vector of its first, and not the
        row before the call.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Returns
    -------
    array (d,)
        The corrected mean v, in the table's dtype.

    Raises
    ------
    TypeError
        An array has a wrong dtype or shape.
    ValueError
        K differs, arrays overlap, or `cache` is unknown.
    IndexError
        The table does not have a client.
    """
    if cache not in ("deferred", "immediate"):
        raise ValueError(f"cache: expected deferred or immediate, got {cache!r}")
    return _update(table, clients, vectors, checks.weights(weights), divisor, cache, isa)


def newest_mean(table: ClientTable, clients: Integers | Sequence[int], vectors: Rows, *, divisor: int, isa: str = "") -> Vector:
    """Puts the arrivals into the cache and then returns its mean v = (1/divisor) sum_c h_c [MIFA,
    ACE].

    Parameters
    ----------
    table : ClientTable
        The rows h (d,), one per client, float32 or float64.
    clients : integer array (K,) or sequence of int
        The clients c(k) of the arrivals, in order.
    vectors : array (K, d), or K arrays (d,)
        Their vectors d_k, of the table's dtype: h_c(k) = d_k, in order.
    divisor : int
        The number by which the sum of the rows is divided, >= 1.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Returns
    -------
    array (d,)
        The mean v, in the table's dtype.

    Raises
    ------
    TypeError
        An array has a wrong dtype or shape.
    ValueError
        K differs, or arrays overlap.
    IndexError
        The table does not have a client.
    """
    return _update(table, clients, vectors, np.empty(0), divisor, "newest", isa)


def _update(
    table: ClientTable,
    clients: Integers | Sequence[int],
    vectors: Rows,
    weights: Weights,
    divisor: int,
    order: Literal["deferred", "immediate", "newest"],
    isa: str,
) -> Vector:
    if table.default.dtype not in checks.FLOATS or table.default.ndim != 1:
        raise TypeError(f"table: expected rows of float32 or float64 (d,), got {table.default.dtype} {table.default.shape}")
    checks.whole("divisor", divisor, 1, (1 << 63) - 1)
    checked = checks.integers("clients", clients)
    if len(checked) != checks.count(vectors):
        raise ValueError(f"vectors: expected one per client, got {len(vectors)} for {len(checked)} clients")
    out = cast(Vector, np.empty_like(table.default))
    if device := checks.device_of(out, isa):
        device.later.update_cache(weights, vectors, table.open(checked), table.total, 1.0 / divisor, order=order, out=out)
    else:
        _core.update_cache(weights, vectors, table.open(checked), table.total, 1.0 / divisor, ORDERS[order], out, isa)
    return out
