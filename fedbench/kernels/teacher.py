"""The mean of the clients' logits, which teaches the server's model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.kernels import checks
from fedbench.kernels.distill import Doubles, Logits, TeacherKind, is_given, softmax
from fedbench.types import Integers
from fedbench.types.arrays import OnDevice, host

LARGEST = (1 << 31) - 1  # rows, classes and clients are counted in 32 bits


class TeacherMean:
    """The mean of the newest logits of all clients that have any [FedEcho, Alg. 1, line 14].

    It is teacher[u] = (1/count) sum_i Z_i[u]. A float64 sum is kept, so that replacing a client's
    logits costs O(P C) whatever the number of clients. With float32 logits within 2^20 of each
    other in size the sum is exact and does not depend on history. With float64 logits each
    replacement can add a rounding of 1e-16, relative. `snapshot` and `restore` keep every bit.

    Parameters
    ----------
    rows : int
        The number P of public examples.
    classes : int
        The number C of classes, >= 2.
    dtype : dtype
        float32 or float64, of the logits.
    kind : {"logits", "probabilities"}
        With "probabilities" the mean is that of softmax(Z_i). The logits are stored anyway.

    Raises
    ------
    TypeError
        The dtype is another one.
    ValueError
        A number is out of range, or the kind is unknown.
    """

    def __init__(self, rows: int, classes: int, dtype: npt.DTypeLike = np.float32, kind: TeacherKind = "logits") -> None:
        shape = checks.whole("rows", rows, 1, LARGEST), checks.whole("classes", classes, 2, LARGEST)
        is_given(kind)
        self.kind: TeacherKind = kind
        self.dtype = np.dtype(dtype)
        if self.dtype not in checks.FLOATS:
            raise TypeError(f"dtype: expected float32 or float64, got {self.dtype}")
        self._sum: Doubles = np.zeros(shape)
        self._stored: dict[int, Logits] = {}

    @property
    def count(self) -> int:
        """The number of clients that have logits."""
        return len(self._stored)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of public examples and classes, (P, C)."""
        rows, classes = self._sum.shape
        return rows, classes

    @property
    def bytes(self) -> int:
        """The bytes of all stored logits."""
        return sum(logits.nbytes for logits in self._stored.values())

    def stored(self, client: int) -> Logits | None:
        """Returns the client's newest logits, which must not be written.

        Parameters
        ----------
        client : int
            The client.

        Returns
        -------
        array (P, C) or None
            The logits; None if the client has none.
        """
        return self._stored.get(client)

    def replace(self, client: int, logits: Logits) -> None:
        """Stores a copy of the client's logits in the place of its earlier ones.

        Parameters
        ----------
        client : int
            The client, >= 0.
        logits : array (P, C)
            Its logits, in the table's dtype.

        Raises
        ------
        TypeError
            The logits have another dtype, shape or layout.
        ValueError
            A logit is not finite, which would stay in the sum.
        """
        client = checks.whole("client", client, 0, LARGEST)
        if (
            not (checks.is_plain(logits) or isinstance(logits, OnDevice))
            or logits.dtype != self.dtype
            or logits.shape != self._sum.shape
        ):
            checks.refuse("logits", f"{self.dtype} {self._sum.shape} C-contiguous", logits)
        if not np.isfinite(logits).all():
            numbers = host(logits)
            raise ValueError(f"logits: expected finite values, got {numbers[~np.isfinite(numbers)][0]} (client {client})")
        if not self._stored:  # the sum lies where the logits do
            self._sum = np.zeros_like(logits, np.float64)
        old = self._stored.get(client)
        if old is not None:
            self._sum -= self._share(old)
        self._sum += self._share(logits)
        self._stored[client] = logits.copy()

    def _share(self, logits: Logits) -> Logits:
        """Returns what a client with these logits adds to the sum."""
        return logits if self.kind == "logits" else softmax(logits)

    def mean(self, batch: Integers | Sequence[int] | None = None) -> Logits:
        """Returns rows of the mean, in the table's dtype.

        Parameters
        ----------
        batch : integer array (B,) or sequence of int, optional
            Which rows, in this order. None is all of them.

        Returns
        -------
        array (B, C)
            The rows of the mean.

        Raises
        ------
        ValueError
            No client has logits, or a row is outside 0 .. P - 1.
        """
        if not self._stored:
            raise ValueError("TeacherMean: expected at least one client with logits, got none")
        total = self._sum if batch is None else self._sum[self._rows(batch)]
        return (total / self.count).astype(self.dtype)

    def _rows(self, batch: Integers | Sequence[int]) -> Integers:
        rows = checks.integers("batch", batch)
        outside = rows[(rows < 0) | (rows >= len(self._sum))]
        if len(outside):
            raise ValueError(f"batch: expected rows 0 .. {len(self._sum) - 1}, got {outside[0]}")
        return rows

    def snapshot(self) -> dict[str, Any]:
        """Returns everything that `restore` needs.

        Returns
        -------
        dict
            The arrays of the table, and the kind.
        """
        stored = list(self._stored.values())
        logits = np.stack(stored) if stored else np.empty((0, *self._sum.shape), self.dtype)
        return {"clients": np.array(list(self._stored), np.int64), "logits": logits, "sum": self._sum.copy(), "kind": self.kind}

    @classmethod
    def restore(cls, content: Mapping[str, Any]) -> TeacherMean:
        """Returns the table from which a snapshot was taken.

        Parameters
        ----------
        content : mapping
            What `snapshot` returned.

        Returns
        -------
        TeacherMean
            The table, with the same bits.

        Raises
        ------
        TypeError
            The content is no snapshot: an array has another dtype.
        ValueError
            The content is no snapshot: an array has another shape, or a logit is not finite.
        """
        rows, classes = content["sum"].shape
        table = cls(rows, classes, content["logits"].dtype, content["kind"])
        for client, logits in zip(content["clients"].tolist(), content["logits"], strict=True):
            table.replace(client, logits)
        if content["sum"].dtype != np.float64:
            raise TypeError(f"sum: expected float64, got {content['sum'].dtype}")
        table._sum = content["sum"].copy()
        return table
