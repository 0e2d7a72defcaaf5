"""Runs algorithms on a small problem with a virtual clock, the engine and the reference trainer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from fedbench.engine.execute import Execution
from fedbench.engine.plan import pieces
from fedbench.engine.select import ClientSelector
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.kernels.scheduler import Chunk, Duration, LocalSteps, Scheduler, Timing
from fedbench.proof.problems import Quadratic, Softmax
from fedbench.protocols import Algorithm
from fedbench.types import Dispatch, Info, Poll, State, Vector

T = TypeVar("T")
CLIENTS, DIM, SEED = 12, 5, 0
UPDATES = 60  # so many that the slowest client has reported, even if an update takes one arrival
SPEEDS = np.linspace(0.5, 2, CLIENTS)
"""The mean seconds of a local step of every client."""


def problem(dtype: npt.DTypeLike) -> Quadratic:
    """Returns a quadratic problem whose clients have Hessians with eigenvalues from 1/2 to 2, and
    optima and weights of their own."""
    random = np.random.default_rng(SEED)
    bases = np.linalg.qr(random.standard_normal((CLIENTS, DIM, DIM)))[0]
    A = bases * random.uniform(0.5, 2, (CLIENTS, 1, DIM)) @ bases.transpose(0, 2, 1)
    n = random.integers(2, 9, CLIENTS).astype(np.float64)
    return Quadratic(n, n / n.sum(), DIM, A.astype(dtype), random.standard_normal((CLIENTS, DIM)).astype(dtype))


def public_problem(dtype: npt.DTypeLike) -> Softmax:
    """Returns softmax regression on two features and three classes, with public rows without
    labels. Most examples of a client are of one class."""
    random = np.random.default_rng(SEED)
    centres = np.array([[2.0, 0.0], [-1.0, 1.5], [-1.0, -1.5]])
    y = [np.append(np.full(4, client % 3), random.integers(0, 3, 2)) for client in range(CLIENTS)]
    X = [(centres[labels] + random.standard_normal((len(labels), 2))).astype(dtype) for labels in y]
    public = (centres[random.integers(0, 3, 20)] + random.standard_normal((20, 2))).astype(dtype)
    n = np.full(CLIENTS, 6.0)
    return Softmax(n, n / n.sum(), 9, 3, 2, 0.01, X, [labels.astype(np.int64) for labels in y], public)


class Trace:
    """An observer of a run that keeps the model of every version but the first."""

    def __init__(self) -> None:
        self.x: list[Vector] = []

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None:
        pass

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None:
        self.x.append(execution.state.x.copy())


class Wrapped(Generic[T]):
    """An object that stands for another one, and answers in its place where it has no answer of its
    own."""

    def __init__(self, inner: T) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class World:
    """An algorithm and its problem in one precision. Every run begins anew."""

    def __init__(self, algorithm: Algorithm, dtype: str) -> None:
        self.algorithm, self.dtype = algorithm, dtype
        self.problem = public_problem(dtype) if "public_data" in algorithm.requires else problem(dtype)
        shape = (0, 0)
        if isinstance(self.problem, Softmax) and self.problem.public is not None:
            shape = len(self.problem.public), self.problem.classes
        self.info = Info(CLIENTS, self.problem.n(), self.problem.p(), SPEEDS, public_shape=shape)
        self.x0 = np.full(self.problem.dim, 3.0, dtype)
        dispatch = algorithm.dispatch(self.info)
        if isinstance(dispatch, Poll):  # which leaves numbers to the scenario
            steps, period = dispatch.max_steps or 3, dispatch.period_seconds or 3.0
            dispatch = dataclasses.replace(dispatch, max_steps=steps, period_seconds=period)
        self.dispatch: Dispatch = dispatch

    def timing(self) -> Timing:
        """Returns the timing of clients with different speeds and numbers of steps, and of a
        network that takes time."""
        return Timing(
            clients=CLIENTS,
            seed=SEED,
            compute=Duration.exponential(SPEEDS, per_step=True),
            download=Duration.constant(0.1),
            upload=Duration.constant(0.2),
            steps=LocalSteps(values=[1 + client % 3 for client in range(CLIENTS)]),
            max_updates=UPDATES,
        )

    def execution(self, algorithm: Algorithm | None = None, wave_size: int | None = None) -> Execution:
        """Returns an execution at version 0. `algorithm`, if given, takes the place of the world's
        own."""
        trainer = ReferenceTrainer(self.problem, dtype=self.dtype)
        return Execution(algorithm or self.algorithm, trainer, self.info, self.x0, wave_size=wave_size)

    def plan(self, execution: Execution) -> Iterator[Chunk]:
        """Returns a plan of UPDATES updates. An algorithm that selects clients is asked at the
        start of every round."""
        return pieces(Scheduler(self.timing(), self.dispatch, p=self.problem.p()), ClientSelector(execution, SEED))

    def run(self, algorithm: Algorithm | None = None, wave_size: int | None = None) -> tuple[list[Vector], State]:
        """Returns the models of all versions but the first, and the last state."""
        execution, trace = self.execution(algorithm, wave_size), Trace()
        execution.run(self.plan(execution), [trace])
        return trace.x, execution.state
