"""The ground on which algorithms are tried: a small quadratic problem, a virtual clock, the engine
and the reference trainer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fedbench.engine.execute import Execution
from fedbench.engine.plan import pieces
from fedbench.engine.select import ClientSelector
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.kernels.scheduler import Chunk, Duration, LocalSteps, Scheduler, Timing
from fedbench.protocols import Algorithm
from fedbench.tasks.problems import Quadratic, Softmax
from fedbench.types import Dispatch, Info, Poll, State, Vector

CLIENTS, DIM, UPDATES, SEED = 12, 5, 60, 0  # by then the slowest client has reported, with one arrival an update too
SPEEDS = np.linspace(0.5, 2, CLIENTS)
"""Mean seconds of a local step."""


def problem(dtype: npt.DTypeLike) -> Quadratic:
    """Clients with Hessians of eigenvalues 1/2 .. 2, and with optima and weights of their own."""
    random = np.random.default_rng(SEED)
    bases = np.linalg.qr(random.standard_normal((CLIENTS, DIM, DIM)))[0]
    A = bases * random.uniform(0.5, 2, (CLIENTS, 1, DIM)) @ bases.transpose(0, 2, 1)
    n = random.integers(2, 9, CLIENTS).astype(np.float64)
    return Quadratic(n, n / n.sum(), DIM, A.astype(dtype), random.standard_normal((CLIENTS, DIM)).astype(dtype))


def public_problem(dtype: npt.DTypeLike) -> Softmax:
    """Softmax regression on three classes of two features, of which every client has mostly one;
    with unlabelled public rows."""
    random = np.random.default_rng(SEED)
    centres = np.array([[2.0, 0.0], [-1.0, 1.5], [-1.0, -1.5]])
    y = [np.append(np.full(4, client % 3), random.integers(0, 3, 2)) for client in range(CLIENTS)]
    X = [(centres[labels] + random.standard_normal((len(labels), 2))).astype(dtype) for labels in y]
    public = (centres[random.integers(0, 3, 20)] + random.standard_normal((20, 2))).astype(dtype)
    n = np.full(CLIENTS, 6.0)
    return Softmax(n, n / n.sum(), 9, 3, 2, 0.01, X, [labels.astype(np.int64) for labels in y], public)


class Trace:
    """Observer: the model of every version."""

    def __init__(self) -> None:
        self.x: list[Vector] = []

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None:
        pass

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None:
        self.x.append(execution.state.x.copy())


class World:
    """An algorithm and the problem, in one precision; every run is a new one."""

    def __init__(self, algorithm: Algorithm, dtype: str) -> None:
        self.algorithm, self.dtype = algorithm, dtype
        self.problem = public_problem(dtype) if "public_data" in algorithm.requires else problem(dtype)
        self.info = Info(CLIENTS, self.problem.n(), self.problem.p(), SPEEDS)
        self.x0 = np.full(self.problem.dim, 3.0, dtype)
        dispatch = algorithm.dispatch(self.info)
        if isinstance(dispatch, Poll):  # what it leaves to the scenario
            steps, period = dispatch.max_steps or 3, dispatch.period_seconds or 3.0
            dispatch = dataclasses.replace(dispatch, max_steps=steps, period_seconds=period)
        self.dispatch: Dispatch = dispatch

    def timing(self) -> Timing:
        """Clients of different speed and with different numbers of steps, and a network that takes
        time."""
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
        """Returns an execution at version 0, with what stands in for the algorithm if anything
        does."""
        return Execution(
            algorithm or self.algorithm,
            ReferenceTrainer(self.problem, dtype=self.dtype),
            self.info,
            self.x0,
            wave_size=wave_size,
            step_writes_memory=self.dispatch.starts_from_later_version,
        )

    def plan(self, execution: Execution) -> Iterator[Chunk]:
        """UPDATES updates; an algorithm that selects is asked at every round's start."""
        return pieces(Scheduler(self.timing(), self.dispatch, p=self.problem.p()), ClientSelector(execution, SEED))

    def run(self, algorithm: Algorithm | None = None, wave_size: int | None = None) -> tuple[list[Vector], State]:
        """The models of all versions, and the last state."""
        execution, trace = self.execution(algorithm, wave_size), Trace()
        execution.run(self.plan(execution), [trace])
        return trace.x, execution.state
