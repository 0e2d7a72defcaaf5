"""A server's cache of every client's newest vector: replaced, and averaged, in one pass over
memory.

csrc/include/fedbench/cache.hpp states the arithmetic; the bits are the same on every instruction
set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from fedbench import _core
from fedbench.kernels import checks
from fedbench.kernels.checks import Rows
from fedbench.tables import ClientTable
from fedbench.types import Integers, Vector, Weights

_UPDATE: dict[Any, Any] = {np.dtype(np.float32): _core.update_cache_float32, np.dtype(np.float64): _core.update_cache_float64}


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
    """v = (1/divisor) sum_c h_c + sum_k w_k (d_k - h_c(k)) with the rows h before the call; then
    h_c(k) = d_k, in order [CA2FL].

    `table` has one row (d,) per client, `clients` (K,) and `vectors` (K, d) are the arrivals in
    order, `weights` (K,) float64. `cache` "immediate": a second arrival of a client subtracts the
    first one's vector, not the row before the call. TypeError for a wrong dtype or shape,
    ValueError if K differs or arrays overlap, IndexError for a client that the table does not have.
    """
    order = {"deferred": _core.CacheOrder.deferred, "immediate": _core.CacheOrder.immediate}.get(cache)
    if order is None:
        raise ValueError(f"cache: expected deferred or immediate, got {cache!r}")
    return _update(table, clients, vectors, checks.weights(weights), divisor, order, isa)


def newest_mean(table: ClientTable, clients: Integers | Sequence[int], vectors: Rows, *, divisor: int, isa: str = "") -> Vector:
    """h_c(k) = d_k, in order; then v = (1/divisor) sum_c h_c [MIFA, ACE]. Shapes and errors as in
    `calibrated_mean`."""
    return _update(table, clients, vectors, np.empty(0), divisor, _core.CacheOrder.newest, isa)


def _update(
    table: ClientTable,
    clients: Integers | Sequence[int],
    vectors: Rows,
    weights: Weights,
    divisor: int,
    order: Any,
    isa: str,
) -> Vector:
    kernel = _UPDATE.get(table.default.dtype)
    if kernel is None or table.default.ndim != 1:
        raise TypeError(f"table: expected rows of float32 or float64 (d,), got {table.default.dtype} {table.default.shape}")
    checks.whole("divisor", divisor, 1, (1 << 63) - 1)
    checked = checks.integers("clients", clients)
    if len(checked) != checks.count(vectors):
        raise ValueError(f"vectors: expected one per client, got {len(vectors)} for {len(checked)} clients")
    out = cast(Vector, np.empty_like(table.default))
    kernel(weights, vectors, table.open(checked), table.total, 1.0 / divisor, order, out, isa)
    return out
