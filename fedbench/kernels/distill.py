"""Uncertainty-aware distillation on logits, and the mean of the clients' logits that teaches.

The kernels know no model: they take the student's logits and return the gradient with respect to
them. Arrays are plain numpy arrays, float32 or float64, C-contiguous, of one dtype. Nothing is cast
silently. csrc/include/fedbench/distill.hpp states the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.kernels import checks

Logits = npt.NDArray[np.floating[Any]]
Doubles = npt.NDArray[np.float64]
TeacherKind = Literal["logits", "probabilities"]

LARGEST = (1 << 31) - 1  # rows, classes and clients are counted in 32 bits


@dataclass(frozen=True)
class Distilled:
    """What `distill` returns, for B rows and C classes. The arrays belong to the caller, who may
    pass them as `out` to a later call."""

    loss: float  # mean_u alpha KL_u + (1 - alpha) CE_u
    relative_entropy: float  # Hhat = mean(H) / log C
    alpha: float  # Hhat alpha_max + (1 - Hhat) alpha_min
    grad: Logits  # (B, C): d loss / d student
    probabilities: Logits  # (B, C): P
    label: npt.NDArray[np.int64]  # (B,): argmax of the teacher
    entropy: Doubles  # (B,): H
    kl: Doubles  # (B,): KL(P || softmax(student))
    ce: Doubles  # (B,): -log softmax(student)[label]


Arrays = tuple[Logits, Logits, npt.NDArray[np.int64], Doubles, Doubles, Doubles]


def distill(
    student: Logits,
    teacher: Logits,
    alpha_min: float,
    alpha_max: float,
    *,
    kind: TeacherKind = "logits",
    out: Distilled | None = None,
    isa: str = "",
) -> Distilled:
    """Returns loss and gradient of one batch, and values of every row [FedEcho, Alg. 1, lines
    14-19].

        P = softmax(teacher), H_u = -sum_c P log P, Hhat = mean(H) / log C
        alpha = Hhat alpha_max + (1 - Hhat) alpha_min
        loss = mean_u alpha KL(P_u || softmax(student_u)) + (1 - alpha) CE(student_u, argmax teacher_u)
        grad = (softmax(student) - alpha P - (1 - alpha) onehot(label)) / B

    Ties of the argmax go to the lowest class. A logit of the student that is not finite makes its
    row NaN, and one of the teacher makes the whole result NaN.

    Args:
        student: logits (B, C), B >= 1, C >= 2.
        teacher: logits (B, C) of the same dtype.
        alpha_min: alpha for a teacher that is sure.
        alpha_max: alpha for a teacher that is not sure at all.
        kind: with "probabilities" `teacher` is P itself, whose rows sum to 1.
        out: an earlier result whose arrays are used again. They must not overlap the inputs.
        isa: the instruction set; empty is the one in use on this machine.

    Raises:
        TypeError: an array has a wrong dtype, shape or layout.
        ValueError: arrays overlap, the kind is unknown, or there are no rows or only one class.
    """
    checks.array("student", student, "(B, C)")
    given = is_given(kind)
    low, high = checks.within("alpha_min", alpha_min, "finite"), checks.within("alpha_max", alpha_max, "finite")
    arrays = _empty(student) if out is None else (out.grad, out.probabilities, out.label, out.entropy, out.kl, out.ce)
    loss, relative, alpha = _core.distill(student, teacher, low, high, arrays, given, isa)
    return Distilled(loss, relative, alpha, *arrays)


class DistillGradient(NamedTuple):
    """What `distill_gradient` returns; `grad` (B, C) is d loss / d student."""

    loss: float
    alpha: float
    grad: Logits


def distill_gradient(
    student: Logits,
    teacher: Logits,
    alpha_min: float,
    alpha_max: float,
    *,
    kind: TeacherKind = "logits",
    out: Logits | None = None,
    isa: str = "",
) -> DistillGradient:
    """Returns the loss, alpha and gradient of `distill` with the same bits, without the values of
    every row, which a training step does not need.

    `out` (B, C) receives the gradient if given, and must not overlap the inputs. The other
    arguments, the errors and NaN are those of `distill`.
    """
    checks.array("student", student, "(B, C)")
    given = is_given(kind)
    low, high = checks.within("alpha_min", alpha_min, "finite"), checks.within("alpha_max", alpha_max, "finite")
    grad = np.empty_like(student) if out is None else out
    loss, _, alpha = _core.distill(student, teacher, low, high, (grad,), given, isa)
    return DistillGradient(loss, alpha, grad)


def is_given(kind: str) -> bool:
    """Returns whether the teacher gives probabilities. ValueError for an unknown kind."""
    if kind not in ("logits", "probabilities"):
        raise ValueError(f"kind: expected logits or probabilities, got {kind!r}")
    return kind == "probabilities"


def _empty(student: Logits) -> Arrays:
    entropy, kl, ce = np.empty((3, len(student)))
    return np.empty_like(student), np.empty_like(student), np.empty(len(student), np.int64), entropy, kl, ce


def softmax(logits: Logits, *, isa: str = "") -> Logits:
    """Returns the softmax of every row (B, C), with the bits that P has in `distill`."""
    checks.array("logits", logits, "(B, C)")
    return distill(logits, logits, 1.0, 1.0, isa=isa).probabilities


class TeacherMean:
    """The mean of the newest logits of all clients that have any: teacher[u] = (1/count) sum_i
    Z_i[u] [FedEcho, Alg. 1, line 14].

    A float64 sum is kept, so that replacing a client's logits costs O(P C) whatever the number of
    clients. With float32 logits within 2^20 of each other in size the sum is exact and does not
    depend on history. With float64 logits each replacement can add a rounding of 1e-16, relative.
    `snapshot` and `restore` keep every bit.

    Args:
        rows: the number P of public examples.
        classes: the number C of classes.
        dtype: float32 or float64, of the logits.
        kind: with "probabilities" the mean is that of softmax(Z_i). The logits are stored anyway.
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
        """(P, C)."""
        rows, classes = self._sum.shape
        return rows, classes

    @property
    def bytes(self) -> int:
        """The bytes of all stored logits."""
        return sum(logits.nbytes for logits in self._stored.values())

    def stored(self, client: int) -> Logits | None:
        """Returns the client's newest logits (P, C), which must not be written; None if it has
        none."""
        return self._stored.get(client)

    def replace(self, client: int, logits: Logits) -> None:
        """Stores a copy of the client's logits (P, C), which have the table's dtype. Logits that
        are not finite are refused, since they would stay in the sum."""
        client = checks.whole("client", client, 0, LARGEST)
        if not checks.is_plain(logits) or logits.dtype != self.dtype or logits.shape != self._sum.shape:
            checks.refuse("logits", f"{self.dtype} {self._sum.shape} C-contiguous", logits)
        finite = np.isfinite(logits)
        if not finite.all():
            raise ValueError(f"logits: expected finite values, got {logits[~finite][0]} (client {client})")
        old = self._stored.get(client)
        if old is not None:
            self._sum -= self._share(old)
        self._sum += self._share(logits)
        self._stored[client] = logits.copy()

    def _share(self, logits: Logits) -> Logits:
        """Returns what a client with these logits adds to the sum."""
        return logits if self.kind == "logits" else softmax(logits)

    def mean(self, batch: npt.NDArray[np.integer[Any]] | Sequence[int] | None = None) -> Logits:
        """Returns the rows `batch` of the mean in the given order, or all for None, in the table's
        dtype. ValueError if no client has logits, or a row is outside 0 .. P - 1."""
        if not self._stored:
            raise ValueError("TeacherMean: expected at least one client with logits, got none")
        total = self._sum if batch is None else self._sum[self._rows(batch)]
        return np.asarray(total / self.count).astype(self.dtype)

    def _rows(self, batch: npt.NDArray[np.integer[Any]] | Sequence[int]) -> npt.NDArray[np.int64]:
        rows = checks.integers("batch", batch)
        outside = rows[(rows < 0) | (rows >= len(self._sum))]
        if len(outside):
            raise ValueError(f"batch: expected rows 0 .. {len(self._sum) - 1}, got {outside[0]}")
        return rows

    def snapshot(self) -> dict[str, Any]:
        """Returns everything that `restore` needs: arrays, and the kind."""
        shape = (len(self._stored), *self._sum.shape)
        logits = np.array(list(self._stored.values()), self.dtype).reshape(shape)
        return {"clients": np.array(list(self._stored), np.int64), "logits": logits, "sum": self._sum.copy(), "kind": self.kind}

    @classmethod
    def restore(cls, content: Mapping[str, Any]) -> TeacherMean:
        """Returns the table from which a snapshot was taken. ValueError or TypeError if the content
        is not a snapshot."""
        rows, classes = content["sum"].shape
        table = cls(rows, classes, content["logits"].dtype, content["kind"])
        for client, logits in zip(content["clients"].tolist(), content["logits"], strict=True):
            table.replace(client, logits)
        if content["sum"].dtype != np.float64:
            raise TypeError(f"sum: expected float64, got {content['sum'].dtype}")
        table._sum = content["sum"].copy()
        return table
