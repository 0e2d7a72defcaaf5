"""A table with one row per client, in which the server keeps what clients remember."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from fedbench.types import Array, frozen
from fedbench.types.arrays import OnDevice


class ClientTable:
    """A table with one row per client. A row is allocated when it is first written, and reads as
    `default` before.

    `sum` is the sum of all N rows but those left out. It is kept in float64 as `total`, so that it
    does not drift.
    `count` is the number of rows that were written. Rows lie in blocks of 64, where `default` does.
    When the blocks have `spill_bytes` or more, new blocks are memory-mapped temporary files, but
    for those on a device.
    """

    BLOCK: ClassVar[int] = 64

    def __init__(self, clients: int, default: Array, *, spill_bytes: int = 4 << 30) -> None:
        self.clients = clients
        self.default = frozen(default)
        self.spill_bytes = spill_bytes
        self.writeable = True
        self._place: dict[int, int] = {}
        self._blocks: list[Array] = []
        self._left_out: set[int] = set()
        self.total = default.astype(np.float64) * clients

    def __getitem__(self, client: int) -> Array:
        """Returns the client's row, a view that must not be written."""
        self._check(client)
        place = self._place.get(int(client))
        if place is None:
            return self.default
        return self._row(place)

    def __setitem__(self, client: int, row: Array) -> None:
        if not self.writeable:
            raise PermissionError(
                "client memory: step may overwrite rows only under Rounds and Poll, where a client's next job starts from a later "
                "version; elsewhere a Reply carries the memory"
            )
        if row.shape != self.default.shape or row.dtype != self.default.dtype:
            raise TypeError(
                f"client table: expected {self.default.dtype} {self.default.shape}, got {row.dtype} {row.shape} for client {client}"
            )
        if client in self._left_out:
            self._left_out.discard(int(client))
            self.total += row
        else:
            self.total += np.subtract(row, self[client], dtype=np.float64)
        self._allocated(int(client))[:] = row

    def leave_out(self, client: int) -> None:
        """Takes the client's row out of `sum` and `total` until it is written again. It stays to be
        read. ValueError if it is left out already."""
        self._check(client)
        if client in self._left_out:
            raise ValueError(f"client table: the row of client {client} is left out already")
        self.total -= self[client]
        self._left_out.add(int(client))

    def open(self, clients: Iterable[int]) -> list[Array]:
        """Returns the clients' rows to be written in place, and allocates those that are absent.
        The caller has to change `total` as it changes rows."""
        if not self.writeable:
            raise PermissionError("client memory: rows are overwritten in place by a server's own tables only")
        return [self._allocated(int(client)) for client in clients]

    def _allocated(self, client: int) -> Array:
        self._check(client)
        new = client not in self._place
        place = self._place.setdefault(client, len(self._place))
        if place // self.BLOCK == len(self._blocks):
            self._blocks.append(self._new_block())
        row = self._row(place)
        if new:
            row[:] = self.default
        return row

    def _row(self, place: int) -> Array:
        row: Array = self._blocks[place // self.BLOCK][place % self.BLOCK]
        return row if isinstance(row, OnDevice) else np.asarray(row)

    def _check(self, client: int) -> None:
        if not 0 <= client < self.clients:
            raise IndexError(f"client table: client must be in 0 .. {self.clients - 1}, got {client}")

    def _new_block(self) -> Array:
        shape = (self.BLOCK, *self.default.shape)
        if self.bytes < self.spill_bytes or isinstance(self.default, OnDevice):
            return np.empty_like(self.default, shape=shape)
        with tempfile.TemporaryFile(prefix="fedbench-table-") as file:  # the mapping outlives the handle
            return np.memmap(file, self.default.dtype, "w+", shape=shape)

    @property
    def bytes(self) -> int:
        return sum(block.nbytes for block in self._blocks)

    @property
    def sum(self) -> Array:
        return self.total.astype(self.default.dtype)

    @property
    def count(self) -> int:
        return len(self._place)

    def mean(self) -> Array:
        """Returns the mean of all N rows, of which absent ones count as the default."""
        return (self.total / self.clients).astype(self.default.dtype)

    def written(self) -> list[int]:
        """Returns the clients whose row was written, in the order of their first write."""
        return list(self._place)

    def dense(self) -> Array:
        """Returns a copy of all rows (N, ..)."""
        return np.stack([self[i] for i in range(self.clients)])

    def snapshot(self) -> dict[str, Array]:
        """Returns everything that `restore` needs, as arrays."""
        rows = [self[i] for i in self._place]
        return {
            "clients": np.array(list(self._place), np.int64),
            "rows": np.stack(rows) if rows else np.empty_like(self.default, shape=(0, *self.default.shape)),
            "sum": self.total.copy(),
            "left_out": np.array(sorted(self._left_out), np.int64),
            "spill_bytes": np.array(self.spill_bytes),
            "default": self.default,
            "size": np.array(self.clients),
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, Array]) -> ClientTable:
        """Returns the table from which a snapshot was taken. ValueError, TypeError or IndexError if
        the arrays are not a snapshot."""
        size, total = int(arrays["size"]), arrays["sum"]
        if not len(arrays["clients"]) <= size < 2**31:
            raise ValueError(f"client table: expected at least {len(arrays['clients'])} clients, got {size}")
        if total.dtype != np.float64 or total.shape != arrays["default"].shape:
            raise ValueError(f"client table: expected a sum float64 {arrays['default'].shape}, got {total.dtype} {total.shape}")
        table = cls(size, arrays["default"], spill_bytes=int(arrays["spill_bytes"]))
        for client, row in zip(arrays["clients"].tolist(), arrays["rows"], strict=True):
            table[client] = row
        for client in arrays["left_out"].tolist():
            table.leave_out(client)
        table.total = total.copy()
        return table
