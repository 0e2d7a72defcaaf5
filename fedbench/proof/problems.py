"""Small problems with exact gradients, on which algorithms are checked against theory and against
conformance vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fedbench import kernels as k
from fedbench.proof.compare import Unsupported
from fedbench.proof.forms import Form
from fedbench.types import Vector, Weights

Rows = npt.NDArray[np.int64] | None
T = TypeVar("T")


@dataclass(frozen=True)
class Problem:
    """A problem of N clients: numbers of examples n (N,) and weights p (N,) of the objective, all
    of one dtype."""

    examples: Weights
    weights: Weights
    dim: int

    @property
    def clients(self) -> int:
        return len(self.examples)

    def n(self) -> Weights:
        return self.examples

    def p(self) -> Weights:
        return self.weights

    def gradient(self, client: int, x: Vector, rows: Rows = None) -> Vector:
        raise NotImplementedError

    def loss(self, client: int, x: Vector) -> float:
        raise NotImplementedError

    def metrics(self, x: Vector) -> dict[str, float]:
        """Returns the loss F(x) = sum_i p_i F_i(x)."""
        return {"train_loss": k.ordered_sum(p * self.loss(i, x) for i, p in enumerate(self.weights))}


@dataclass(frozen=True)
class Quadratic(Problem):
    """F_i(x) = 1/2 (x - c_i)' A_i (x - c_i) with A (N, d, d) symmetric and c (N, d). There are no
    rows to select."""

    A: Vector
    c: Vector

    def gradient(self, client: int, x: Vector, rows: Rows = None) -> Vector:
        gradient: Vector = self.A[client] @ (x - self.c[client])
        return gradient

    def loss(self, client: int, x: Vector) -> float:
        away = x - self.c[client]
        return 0.5 * float(away @ self.A[client] @ away)

    def minimiser(self) -> Vector:
        """Returns x* = (sum p_i A_i)^-1 sum p_i A_i c_i."""
        A = np.einsum("i,ijk->jk", self.weights, self.A)
        b = np.einsum("i,ijk,ik->j", self.weights, self.A, self.c)
        return np.linalg.solve(A, b).astype(self.c.dtype)


@dataclass(frozen=True)
class Softmax(Problem):
    """Softmax regression: the mean cross-entropy over the client's rows plus (l2/2) |theta|^2.

    theta = [W row by row (classes x features), b], and the logits are W x + b. Every client has
    features X (n_i, D) and labels y (n_i,).
    """

    classes: int
    features: int
    l2: float
    X: Sequence[Vector]
    y: Sequence[npt.NDArray[np.int64]]
    public: Vector | None = None

    def logits(self, x: Vector, rows: Vector) -> Vector:
        """Returns the logits (rows, C) of features (rows, D)."""
        split = self.classes * self.features
        return np.asarray(rows @ x[:split].reshape(self.classes, self.features).T + x[split:])

    def pullback(self, rows: Vector, dlogits: Vector) -> Vector:
        """Returns the gradient (d,) with respect to theta, from that with respect to the logits of
        these rows."""
        return np.concatenate([(dlogits.T @ rows).ravel(), dlogits.sum(axis=0)])

    def gradient(self, client: int, x: Vector, rows: Rows = None) -> Vector:
        X, y = self._rows(client, rows)
        shifted = self.logits(x, X)
        shifted = np.exp(shifted - shifted.max(axis=1, keepdims=True))
        dlogits = shifted / shifted.sum(axis=1, keepdims=True)
        dlogits[np.arange(len(y)), y] -= 1
        gradient = self.pullback(X, dlogits / len(y))
        return gradient + self.l2 * x if self.l2 else gradient

    def loss(self, client: int, x: Vector) -> float:
        X, y = self._rows(client, None)
        z = self.logits(x, X).astype(np.float64)
        z -= z.max(axis=1, keepdims=True)
        nll = np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y]
        return float(nll.mean()) + 0.5 * self.l2 * float(x.astype(np.float64) @ x)

    def _rows(self, client: int, rows: Rows) -> tuple[Vector, npt.NDArray[np.int64]]:
        X, y = self.X[client], self.y[client]
        return (X, y) if rows is None else (X[rows], y[rows])


class ClientForm(Form):
    n: float = 1
    p: float | None = None
    A: list[list[float]] | None = None
    c: list[float] | None = None
    X: list[list[float]] | None = None
    y: list[int] | None = None


def _given(name: str, value: T | None) -> T:
    if value is None:
        raise ValueError(f"problem: expected {name}, found none")
    return value


class ProblemForm(Form):
    kind: str
    clients: list[ClientForm]
    classes: int | None = None
    features: int | None = None
    l2: float | None = None
    public: list[list[float]] | None = None

    def problem(self, dtype: npt.DTypeLike) -> Problem:
        """Returns the problem, with data rounded to dtype. Unsupported for an unknown kind."""
        n = np.array([client.n for client in self.clients], np.float64)
        shares = zip(self.clients, n / n.sum(), strict=True)
        p = np.array([share if client.p is None else client.p for client, share in shares])
        if self.kind == "quadratic":
            A = np.array([_given("A", client.A) for client in self.clients], dtype)
            c = np.array([_given("c", client.c) for client in self.clients], dtype)
            return Quadratic(n, p, c.shape[1], A, c)
        if self.kind == "softmax":
            C, D, l2 = _given("classes", self.classes), _given("features", self.features), _given("l2", self.l2)
            X = [np.array(_given("X", client.X), dtype).reshape(-1, D) for client in self.clients]
            y = [np.array(_given("y", client.y), np.int64) for client in self.clients]
            public = None if self.public is None else np.array(self.public, dtype).reshape(-1, D)
            return Softmax(n, p, C * D + C, C, D, l2, X, y, public)
        raise Unsupported(f"problem: unknown kind {self.kind!r}; known: quadratic, softmax")
