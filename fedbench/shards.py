"""Which client has which examples, in three arrays. A million clients take a few megabytes, even if
they share examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self, overload

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]


class Shards(Sequence[Rows]):
    """The examples of every client: client i has rows[begin[i]:begin[i] + sizes[i]], with `rows`
    (m,), `begin` and `sizes` (N,), all int64.

    As a sequence it has one array of row numbers per client, which is a view of `rows`. The views
    of two clients may overlap.
    """

    def __init__(self, rows: Rows, begin: Rows, sizes: Rows) -> None:
        self.rows, self.begin, self.sizes = rows, begin, sizes

    @classmethod
    def of(cls, parts: Sequence[Rows]) -> Self:
        """Returns the Shards of one array of rows per client. Shards are returned as they are."""
        if isinstance(parts, cls):
            return parts
        sizes = np.array([len(rows) for rows in parts], np.int64)
        return cls(np.concatenate([np.empty(0, np.int64), *parts]), np.cumsum(sizes) - sizes, sizes)

    def __len__(self) -> int:
        return len(self.begin)

    @overload
    def __getitem__(self, client: int) -> Rows: ...
    @overload
    def __getitem__(self, client: slice) -> Shards: ...
    def __getitem__(self, client: int | slice) -> Rows | Shards:
        if isinstance(client, slice):
            return type(self)(self.rows, self.begin[client], self.sizes[client])
        begin, size = self.begin[client], self.sizes[client]
        return self.rows[begin : begin + size]

    def __iter__(self) -> Iterator[Rows]:
        return (self.rows[begin : begin + size] for begin, size in zip(self.begin.tolist(), self.sizes.tolist(), strict=True))

    def among(self, rows: Rows) -> Shards:
        """Returns the same shards with other row numbers: row r becomes `rows[r]`."""
        return type(self)(rows[self.rows], self.begin, self.sizes)

    def labels(self, labels: Rows, classes: int) -> Rows:
        """Returns how many examples of each class every client has (N, C)."""
        found = np.empty((len(self), classes), np.int64)
        own = labels[self.rows]
        for label in range(classes):
            before = np.concatenate([[0], np.cumsum(own == label)])
            found[:, label] = before[self.begin + self.sizes] - before[self.begin]
        return found
