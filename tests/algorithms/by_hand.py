"""Run an algorithm end to end on a small quadratic problem: the C++ scheduler's plan, the engine,
the reference trainer.

The problem of the hand-computed tests, two clients, two parameters, x0 = (3, 4), local rate 1/4,
two local steps. All numbers are dyadic, so float64 is exact and the tests compare with ==.

    F_0 = 1/2 [ (x1 - 1)^2 + 2 x2^2 ]                 one step: (x1, x2) -> (3/4 x1 + 1/4, 1/2 x2)
    F_1 = 1/2 [ 2 (x1 + 1)^2 + (x2 - 2)^2 ]           one step: (x1, x2) -> (1/2 x1 - 1/2, 3/4 x2 + 1/2)

    client 0: (3, 4) -> (5/2, 2) -> (17/8, 1)         Delta_0 = (-7/8, -3)     mean gradient = -2 Delta_0 = (7/4, 6)
    client 1: (3, 4) -> (1, 7/2) -> (0, 25/8)         Delta_1 = (-3, -7/8)     mean gradient = -2 Delta_1 = (6, 7/4)

Of the server equations alone: `serve` gives a state, `arrivals` what a step gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.engine.execute import EngineTools, Execution
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.kernels.scheduler import NANOSECONDS, Chunk, Duration, LocalSteps, Scheduler, Timing
from fedbench.proof.problems import Quadratic
from fedbench.protocols import Algorithm
from fedbench.types import Batch, Dispatch, Info, Poll, State

Array = npt.NDArray[Any]

X0 = np.array([3.0, 4.0])
D0, D1 = np.array([-7 / 8, -3.0]), np.array([-3.0, -7 / 8])


def delta_0(z: Array) -> Array:
    """Delta of client 0's two steps from z."""
    return np.array([7 / 16 * (1 - z[0]), -3 / 4 * z[1]])


def delta_1(z: Array) -> Array:
    """Delta of client 1's two steps from z."""
    return np.array([-3 / 4 * (z[0] + 1), 7 / 16 * (2 - z[1])])


def quadratic(A: Sequence[Any], c: Sequence[Any], n: Sequence[float], dtype: Any = np.float64) -> Quadratic:
    """Weights p_i = n_i / sum n."""
    examples = np.array(n, np.float64)
    return Quadratic(examples, examples / examples.sum(), np.shape(c)[1], np.array(A, dtype), np.array(c, dtype))


def two_clients(n: Sequence[float] = (1, 3)) -> Quadratic:
    return quadratic([np.diag([1, 2]), np.diag([2, 1])], [[1, 0], [-1, 2]], n)


def many_clients(clients: int, dim: int, seed: int, dtype: Any = np.float64) -> Quadratic:
    """Random strongly convex clients with eigenvalues between about 0.5 and 2."""
    random = np.random.default_rng(seed)
    A = []
    for _ in range(clients):
        q, _ = np.linalg.qr(random.standard_normal((dim, dim)))
        A.append(q @ np.diag(random.uniform(0.5, 2, dim)) @ q.T)
    return quadratic(A, random.standard_normal((clients, dim)), random.integers(1, 9, clients), dtype)


@dataclass
class Trace:
    """The models of all versions, the times of the updates (seconds), and the state after the last
    one."""

    x: list[Array]
    seconds: list[float] = field(default_factory=list)
    chunk: Chunk | None = None
    state: State | None = None

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None:
        pass

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None:
        self.x.append(execution.state.x.copy())
        self.seconds.append(time_ns / NANOSECONDS)

    def consumed(self) -> list[tuple[int, int]]:
        """(client, base) of all consumed entries in order."""
        assert self.chunk is not None
        entries = self.chunk.entries
        return list(zip(self.chunk.client[entries].tolist(), self.chunk.base[entries].tolist(), strict=True))


def run(
    algorithm: Algorithm,
    problem: Quadratic,
    updates: int,
    *,
    seconds: Sequence[float] = (1.0,),
    steps: int | Sequence[int] = 2,
    x0: Array = X0,
    dispatch: Dispatch | None = None,
    download: float = 0.0,
    upload: float = 0.0,
) -> Trace:
    """`seconds` of compute per job, under Poll per step, and `steps`: one for all clients, or one
    each. `dispatch` replaces the algorithm's own. Algorithms know the seconds as those of a job."""
    job_seconds = np.broadcast_to(np.array(seconds, np.float64), problem.clients)
    info = Info(problem.clients, problem.n(), problem.p(), job_seconds=job_seconds)
    dispatch = dispatch or algorithm.dispatch(info)
    timing = Timing(
        clients=problem.clients,
        compute=Duration.constant(np.array(seconds), per_step=isinstance(dispatch, Poll)),
        download=Duration.constant(download),
        upload=Duration.constant(upload),
        steps=LocalSteps(values=steps),
        max_updates=updates,
    )
    trace = Trace([x0.copy()])
    trace.chunk = Scheduler(timing, dispatch, p=problem.p()).next()
    execution = Execution(algorithm, ReferenceTrainer(problem, dtype=x0.dtype), info, x0)
    execution.run([trace.chunk], [trace])
    trace.state = execution.state
    assert len(trace.x) == updates + 1
    return trace


def serve(algorithm: Algorithm, clients: int, x0: Array, **seconds: Array) -> tuple[State, EngineTools]:
    """The state before the first update, and the tools, of a server whose clients are not trained;
    n_i = 1. `seconds`: step_seconds and job_seconds of Info."""
    problem = quadratic([np.eye(len(x0))] * clients, np.zeros((clients, len(x0))), np.ones(clients), x0.dtype)
    info = Info(clients, problem.n(), problem.p(), **seconds)
    execution = Execution(algorithm, ReferenceTrainer(problem, dtype=x0.dtype), info, x0)
    return execution.state, execution.tools


def arrivals(
    clients: Sequence[int],
    *,
    version: int = 0,
    base: Sequence[int] | None = None,
    steps: int | Sequence[int] = 1,
    base_x: Array | None = None,
    **sent: Any,
) -> Batch:
    """What a step gets: one row of every name of `sent` per client; fresh unless `base` says
    otherwise. `base_x` (K, d)."""
    bases = np.full(len(clients), version) if base is None else np.array(base)
    ids = np.array(clients)
    first = np.zeros(len(ids), np.bool_)
    first[np.unique(ids, return_index=True)[1]] = True
    return Batch(
        clients=ids,
        steps=np.broadcast_to(np.array(steps), ids.shape),
        base=bases,
        staleness=version - bases,
        n=np.ones(len(ids)),
        p=np.full(len(ids), 1 / len(ids)),
        first=first,
        version=version,
        sent={name: np.array(rows) for name, rows in sent.items()},
        base_x=lambda i: np.empty(0) if base_x is None else base_x[i],
    )
