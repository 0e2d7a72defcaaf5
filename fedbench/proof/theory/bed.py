"""The quadratic problems of the claims, with gradient noise of a known size, and runs of the engine
on them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fedbench.engine.execute import Diverged, Execution
from fedbench.engine.plan import pieces
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.kernels.scheduler import Duration, LocalSteps, Scheduler, Timing
from fedbench.proof.problems import Quadratic, Rows
from fedbench.protocols import Algorithm
from fedbench.types import Info, Vector, Weights

# The noises from which a job draws K without replacement, which for K << EXAMPLES is nearly the
# same as with replacement.
EXAMPLES = 1024


@dataclass(frozen=True)
class Noisy(Quadratic):
    """A quadratic problem with the stochastic gradients grad F_i(x) + z. z is a row of `noise` (m,
    d), whose rows have exactly the mean 0 and the mean square norm sigma^2.

    `largest` is the largest |grad F_i|^2 of all gradients so far, which is G^2 of the theorems.
    """

    noise: npt.NDArray[np.float64]
    seen: list[float] = field(default_factory=lambda: [0.0])

    @property
    def info(self) -> Info:
        return Info(self.clients, self.n(), self.p())

    @property
    def largest(self) -> float:
        return self.seen[0]

    def gradient(self, client: int, x: Vector, rows: Rows = None) -> Vector:
        exact = super().gradient(client, x)
        self.seen[0] = max(self.seen[0], float(exact @ exact))
        if rows is None:
            return exact
        noise: Vector = self.noise[rows[0]] if len(rows) == 1 else self.noise[rows].mean(axis=0)
        return exact + noise

    @functools.cached_property
    def hessian(self) -> Vector:
        """The Hessian of F: sum p_i A_i (d, d)."""
        return np.asarray(np.einsum("i,ijk->jk", self.weights, self.A))

    @functools.cached_property
    def optimum(self) -> Vector:
        """The minimiser x* of F (d,)."""
        return self.minimiser()

    def loss_at(self, x: Vector) -> float:
        return self.metrics(x)["train_loss"]


@dataclass(frozen=True)
class Observed(Noisy):
    """A noisy problem that also has public data for distillation. Its features (P, C d) give every
    public row C logits, which are linear in the model."""

    public: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    classes: int = 3

    def logits(self, x: Vector, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Returns the logits (B, C) of features (B, C d)."""
        return np.asarray(rows.reshape(-1, self.classes, self.dim) @ x)

    def pullback(self, rows: npt.NDArray[np.float64], dlogits: npt.NDArray[np.float64]) -> Vector:
        """Returns the gradient in x (d,), given that of the logits (B, C) of features (B, C d)."""
        return np.asarray(np.einsum("bc,bcd->d", dlogits, rows.reshape(-1, self.classes, self.dim)))


def with_public_data(on: Noisy, rows: int = 20, classes: int = 3, seed: int = 0) -> Observed:
    """Returns the problem with `rows` public examples, whose features are normal."""
    public = np.random.default_rng(seed).standard_normal((rows, classes * on.dim))
    return Observed(on.examples, on.weights, on.dim, on.A, on.c, on.noise, public=public, classes=classes)


def problem(
    clients: int = 40, dim: int = 10, *, heterogeneity: float = 1.0, sigma: float = 1.0, spread: float = 0.0, seed: int = 0
) -> Noisy:
    """Returns a problem with uniform weights and Hessians of eigenvalues from 0.2 to 1, so L = 1.

    Args:
        clients: their number.
        dim: the dimension d.
        heterogeneity: the optima c_i are normal with E |c_i|^2 = heterogeneity^2.
        sigma: the root of the mean square norm of the noise.
        spread: 0 gives all clients the same diagonal Hessian, and more gives them different ones.
        seed: for optima, Hessians and noise.
    """
    random = np.random.default_rng(seed)
    eigenvalues = np.linspace(0.2, 1, dim)
    A = np.broadcast_to(np.diag(eigenvalues), (clients, dim, dim)).copy()
    if spread:
        bases = np.linalg.qr(np.eye(dim) + spread * random.standard_normal((clients, dim, dim)))[0]
        A = bases @ A @ bases.transpose(0, 2, 1)
    c = heterogeneity * random.standard_normal((clients, dim)) / np.sqrt(dim)
    noise = random.standard_normal((EXAMPLES, dim))
    noise -= noise.mean(axis=0)
    noise *= sigma / np.sqrt((noise**2).sum(axis=1).mean())
    examples = np.full(clients, float(EXAMPLES))
    return Noisy(examples, np.full(clients, 1 / clients), dim, A, c, noise)


@dataclass
class Measured:
    """An observer of a run. From x^0 on it keeps the `distances` |x^t - x*|^2, the `squares`
    |grad F(x^t)|^2 and the `gaps` F(x^t) - F*, and counts the `arrivals` of every client. `x` is
    the last model. It, and the ends of the lists, are NaN for a run that diverges."""

    problem: Noisy
    x: Vector
    arrivals: Weights
    distances: list[float] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None:
        away = execution.state.x - self.problem.optimum
        g = self.problem.hessian @ away
        self.distances.append(float(away @ away))
        self.squares.append(float(g @ g))
        self.gaps.append(0.5 * float(g @ away))  # F is quadratic
        chunk = execution.chunk
        at = version - chunk.first_version
        entries = chunk.entries[chunk.offsets[at] : chunk.offsets[at + 1]]
        self.arrivals += np.bincount(chunk.client[entries], minlength=self.problem.clients)

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None:
        self.x = execution.state.x

    @property
    def mean_square_gradient(self) -> float:
        """The mean of |grad F(x^t)|^2 over all t."""
        return float(np.mean(self.squares))


def late(values: Sequence[float] | Weights) -> float:
    """Returns the mean over the last half."""
    return float(np.mean(values[len(values) // 2 :]))


@dataclass(frozen=True, kw_only=True)
class Clients:
    """Local `steps` and virtual `seconds` of a job. Each is one number for all clients, or one for
    each. `compute` gives the times of jobs that do not always take the same seconds."""

    steps: int | list[int] = 1
    seconds: float | Weights = 1.0
    compute: Duration | None = None

    def scheduler(self, algorithm: Algorithm, on: Noisy, updates: int, seed: int) -> Scheduler:
        timing = Timing(
            clients=on.clients,
            seed=seed,
            compute=self.compute or Duration.constant(self.seconds),
            steps=LocalSteps(values=self.steps),
            max_updates=updates,
        )
        return Scheduler(timing, algorithm.dispatch(on.info), p=on.p())


def play(
    algorithm: Algorithm,
    on: Noisy,
    updates: int,
    clients: Clients,
    *,
    noise: bool = True,
    seed: int = 0,
    start: Vector | None = None,
) -> Measured:
    """Returns what is measured of a run on the problem `on`.

    Args:
        algorithm: what is run.
        on: the problem.
        updates: their number.
        clients: their steps and times.
        noise: without it gradients are exact.
        seed: for the plan and the noise.
        start: x^0; None is `start_of`.
    """
    trainer = ReferenceTrainer(on, dtype="float64", seed=seed, batch_size=1 if noise else None)
    execution = Execution(algorithm, trainer, on.info, start_of(on) if start is None else start)
    measured = Measured(on, execution.state.x, np.zeros(on.clients))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            execution.run(pieces(clients.scheduler(algorithm, on, updates, seed)), [measured])
    except Diverged:
        measured.x = np.full(on.dim, np.nan)
        for found in (measured.distances, measured.squares, measured.gaps):
            found.append(np.nan)
    return measured


def near_optimum(on: Noisy, gap: float) -> Vector:
    """Returns the x^0 with F(x^0) - F* = gap for which all coordinates of x^0 - x* are equal."""
    away = np.ones(on.dim)
    return np.asarray(on.optimum + away * np.sqrt(2 * gap / (away @ on.hessian @ away)))


def start_of(on: Noisy) -> Vector:
    """Returns the mean of the optima, with 1 added to every coordinate, as x^0."""
    return np.asarray(on.c.mean(axis=0) + 1.0)
