"""Algorithm vectors: the engine executes a scripted plan on a problem without noise, and the models
of its versions are compared with those of the vector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from pydantic import Field

from fedbench import registry
from fedbench.algorithms.favano import FAVANO
from fedbench.engine.execute import Diverged, Execution
from fedbench.engine.public import PublicData
from fedbench.engine.trainers.base import Backend
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.errors import UsageError
from fedbench.kernels import TeacherMean
from fedbench.proof.compare import Mismatch, Unsupported, bits, compare
from fedbench.proof.forms import ByPrecision, Checked, Form, JobForm, Tolerance
from fedbench.proof.problems import Problem, ProblemForm
from fedbench.proof.testbed import Trace
from fedbench.protocols import Algorithm, RowIndices
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Job, State, Vector, Weights

# The vectors have names of their own. These tables translate them, for all algorithms or by
# algorithm: options, values of options, and values of the state.
OPTIONS = {
    "eta_l": "local_lr",
    "eta_g": "server_lr",
    "M": "buffer_size",
    "S": "buffer_size",
    "n": "cohort_size",
    "m": "cohort_size",
    "s": "cohort_size",
    "R": "delay_threshold",
    "tau_c": "delay_threshold",
}
OPTIONS_OF: dict[str, dict[str, str]] = {
    "aced": {"tau": "delay_threshold"},
    "delayed_nesterov": {"beta": "server_momentum", "c": "spread"},
    "fedadagrad": {"v0": "init_moment"},
    "fedadam": {"v0": "init_moment"},
    "fedagrac": {"lambda": "calibration_rate", "init": "init_reference"},
    "fedasync": {"alpha": "mixing", "rho": "prox"},
    "fedavgm": {"beta": "server_momentum"},
    "feddyn": {"a": "regularization"},
    "fedecho": {"optimizer": "distill_optimizer", "eta_d": "distill_lr", "clip": "clip_norm"},
    "fedlin": {"eta_bar": "local_lr"},
    "fedqs": {"a": "rate_gain", "cap": "ratio_cap", "momentum": "client_momentum"},
    "fedyogi": {"v0": "init_moment"},
    "port": {"bound": "staleness_bound"},
    "fedprox": {"mu": "prox", "prox": "prox_form"},
    "fedstale": {"beta": "stale_weight"},
    "scaffold": {"init": "init_control"},
}
UNNAMED: dict[str, dict[str, str]] = {"mifa": {"start": "warm"}}
"""What the equations of the format fix and its vectors do not name: G_i starts at 0 and counts at
once."""
VALUES_OF: dict[str, dict[tuple[str, str], str]] = {
    "fednova": {("weights", "p"): "p_normalised"},
}
STATE_OF: dict[str, dict[str, str]] = {
    "area": {"y_i": "memory"},
    "fedac": {"C_i": "memory"},
    "fedagrac": {"nu_i": "memory"},
    "fedawe": {"X_i": "memory"},
    "feddyn": {"l_i": "memory"},
    "fedexp": {"mean2": "evaluated"},
    "fedqs": {"count_i": "c"},
    "quafl": {"X_i": "memory"},
    "ringleader": {"count_i": "b_i"},
    "scaffold": {"c_i": "memory"},
}


class UpdateForm(Form):
    jobs: list[int]
    alpha: list[float | None] | None = None
    distill: list[list[int]] | None = None


class PlanForm(Form):
    jobs: list[JobForm]
    updates: list[UpdateForm]


class AlgorithmForm(Form):
    name: str
    params: dict[str, object]


class Expected(Form):
    versions: list[int]
    x: list[list[float] | None]
    state: dict[str, object] = Field(default_factory=dict)


class Tolerances(Form):
    float64: Tolerance
    float32: Tolerance
    state: dict[str, ByPrecision] = Field(default_factory=dict)


def make_algorithm(name: str, params: Mapping[str, object], updates: Sequence[UpdateForm] = ()) -> Algorithm:
    """Returns our algorithm for a vector's name and parameters, and for what its updates prescribe.
    Unsupported if we do not know a name or a value."""
    if name not in registry.names("algorithm"):
        raise Unsupported(f"algorithm {name!r}")
    names = OPTIONS | OPTIONS_OF.get(name, {})
    options: dict[str, object] = dict(UNNAMED.get(name, {}))
    for key, value in params.items():
        if (name, key) == ("rescaled_asgd", "seconds"):  # of the clients' jobs, which the algorithm finds in its Info
            continue
        if key == "staleness" and isinstance(value, dict):
            options |= {"staleness" if part == "kind" else part: v for part, v in value.items() if v is not None}
        else:
            options[names.get(key, key)] = value
    options |= {key: new for (key, old), new in VALUES_OF.get(name, {}).items() if options.get(key) == old}
    try:
        has_alpha = name == "favano" and any(update.alpha is not None for update in updates)
        cls = prescribed(updates) if has_alpha else registry.find("algorithm", name)
        return cls.make(options)
    except UsageError as error:
        raise Unsupported(str(error)) from None


def prescribed(updates: Sequence[UpdateForm]) -> type[FAVANO]:
    """Returns FAVANO with the alphas that every update prescribes. Null, which stands where no step
    was done, is 1."""

    class Prescribed(FAVANO):
        def normalisers(self, state: State, batch: Batch) -> Weights:
            super().normalisers(state, batch)
            return np.array([1.0 if alpha is None else alpha for alpha in updates[batch.version].alpha or ()])

    return Prescribed


class ScriptedBatches(PublicData):
    """Public data whose batches are those that the vector's updates name. Other updates have drawn
    ones."""

    def __init__(self, backend: Backend, updates: Sequence[UpdateForm]) -> None:
        super().__init__(backend)
        self.updates = updates

    def batches(self, version: int, size: int, steps: int | None = None) -> Iterator[RowIndices]:
        scripted = self.updates[version].distill
        if scripted is None:
            return super().batches(version, size, steps)
        return (np.array(rows, np.int64) for rows in scripted)


def scripted_chunks(plan: PlanForm, size: int | None = None) -> Iterator[Any]:
    """Yields the plan in chunks of `size` updates. None is one chunk. They have those columns of a
    kernels.scheduler.Chunk that an execution reads, and the consumed jobs in the order in which
    they are consumed."""
    counter = Counter[int]()
    jobs: dict[int, Job] = {}
    for job in plan.jobs:
        jobs[job.job] = Job(job.client, counter[job.client], job.base, job.steps)
        counter[job.client] += 1
    updates = [update.jobs for update in plan.updates]
    size = size or len(updates)
    for begin in range(0, len(updates), size):
        part, later = updates[begin : begin + size], updates[begin + size :]
        consumed_by: dict[int, int] = {}
        for update, ids in enumerate(part, begin):
            for i in ids:
                if consumed_by.setdefault(i, update) != update:
                    raise ValueError(f"plan: job {i} is consumed by two updates")
        place = {i: row for row, i in enumerate(consumed_by)}
        columns = ("client", "k", "base", "steps")
        live = {jobs[i].base for ids in later for i in ids}
        yield SimpleNamespace(
            first_version=begin,
            **{name: np.array([getattr(jobs[i], name) for i in place], np.int32) for name in columns},
            consumed_by=np.array(list(consumed_by.values()), np.int32),
            time=np.arange(begin + 1, begin + 1 + len(part), dtype=np.int64),
            offsets=np.cumsum([0, *map(len, part)], dtype=np.int64),
            entries=np.array([place[i] for ids in part for i in ids], np.int64),
            live_bases=np.array(sorted(base for base in live if base <= begin + size), np.int32),
        )


class AlgorithmVector(Checked):
    algorithm: AlgorithmForm
    problem: ProblemForm
    x0: list[float]
    plan: PlanForm
    expected: Expected
    tolerance: Tolerances

    def check(self, precision: str) -> float:
        name = self.algorithm.name
        algorithm = make_algorithm(name, self.algorithm.params, self.plan.updates)
        problem = self.problem.problem(precision)
        versions, state = self._execute(algorithm, problem, precision)
        for wave, size in ((1, None), (None, 1)):
            other = self._execute(algorithm, problem, precision, wave, size)
            for what, one, two in zip(("x", "state"), (versions, state), other, strict=True):
                if bits(one) != bits(two):
                    raise Mismatch(
                        f"{what}, wave size {wave}, {size or 'all'} updates a chunk: not the same bits as with maximal waves"
                    )
        found = [versions[v] for v in self.expected.versions]
        worst = compare(found, self.expected.x, getattr(self.tolerance, precision), "x")
        for key, want in self.expected.state.items():
            got = _value(algorithm, state, key, problem.clients)
            worst = max(worst, compare(got, want, self.tolerance.state[key][precision], key))
        return worst

    def _execute(
        self, algorithm: Algorithm, problem: Problem, dtype: str, wave: int | None = None, size: int | None = None
    ) -> tuple[list[Vector], State]:
        """Returns the models of all versions and the last state, of a run in waves of at most
        `wave` jobs and chunks of `size` updates. Mismatch if it diverges."""
        seconds = self.algorithm.params.get("seconds")
        known = Info(
            problem.clients, problem.n(), problem.p(), job_seconds=None if seconds is None else np.array(seconds, np.float64)
        )
        x0, info = np.array(self.x0, dtype), known
        execution = Execution(algorithm, ReferenceTrainer(problem, dtype=dtype), info, x0, wave_size=wave)
        execution.public = ScriptedBatches(execution.backend, self.plan.updates)
        first, trace = x0.copy(), Trace()
        try:
            execution.run(scripted_chunks(self.plan, size), [trace])
        except Diverged as error:
            raise Mismatch(f"x: {error}") from None
        return [first, *trace.x], execution.state


def _value(algorithm: Algorithm, state: State, key: str, clients: int) -> object:
    """Returns a value of the state as vectors have it, with tables as rows. If the state has no
    value of that name, it is what the algorithm's method of that name derives from the state.
    Unsupported if there is neither."""
    name = STATE_OF.get(algorithm.name, {}).get(key, key)
    derived = getattr(algorithm, name, None)
    if name not in state:
        if not callable(derived):
            raise Unsupported(f"state {key!r} of {algorithm.name}")
        return derived(state)
    value = getattr(state, name)
    if isinstance(value, TeacherMean):
        return [value.stored(client) for client in range(clients)]
    return value.dense() if isinstance(value, ClientTable) else value
