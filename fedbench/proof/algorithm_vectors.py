"""Algorithm vectors: the engine executes a scripted plan on a problem without noise, and the models
of its versions are compared with those of the vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedbench import registry
from fedbench.algorithms.favano import FAVANO
from fedbench.engine.execute import Execution
from fedbench.engine.public import PublicData
from fedbench.engine.trainers.base import Backend
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.errors import UsageError
from fedbench.kernels import TeacherMean
from fedbench.proof.compare import Mismatch, Unsupported, bits, compare
from fedbench.proof.problems import Problem, read_problem
from fedbench.proof.testbed import Trace
from fedbench.protocols import Algorithm, RowIndices
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, State, Vector, Weights

# The vectors have names of their own. These tables translate them, for all algorithms or by
# algorithm: options, values of options, and values of the state.
OPTIONS = {"eta_l": "local_lr", "eta_g": "server_lr"}
OPTIONS_OF: dict[str, dict[str, str]] = {
    "ace": {"M": "buffer_size"},
    "aced": {"tau": "delay_threshold"},
    "area": {"M": "buffer_size"},
    "ca2fl": {"M": "buffer_size"},
    "defedavg_iid": {"n": "cohort_size"},
    "defedavg_niid": {"n": "cohort_size"},
    "fadas": {"M": "buffer_size", "tau_c": "delay_threshold"},
    "fedac": {"M": "buffer_size"},
    "fedadam": {"v0": "init_moment"},
    "fedagrac": {"lambda": "calibration_rate", "init": "init_reference"},
    "fedasync": {"alpha": "mixing", "rho": "prox"},
    "fedbuff": {"M": "buffer_size"},
    "feddyn": {"a": "regularization"},
    "fedecho": {"M": "buffer_size", "optimizer": "distill_optimizer", "eta_d": "distill_lr", "clip": "clip_norm"},
    "fedlin": {"eta_bar": "local_lr"},
    "fedprox": {"mu": "prox", "prox": "prox_form"},
    "malenia": {"S": "buffer_size"},
    "fedstale": {"beta": "stale_weight"},
    "msync": {"m": "cohort_size"},
    "quafl": {"s": "cohort_size"},
    "rennala": {"S": "buffer_size"},
    "ringmaster": {"R": "delay_threshold"},
    "scaffold": {"init": "init_control"},
}
UNNAMED: dict[str, dict[str, Any]] = {"mifa": {"start": "warm"}}
"""What the equations of the format fix and its vectors do not name: G_i starts at 0 and counts at
once."""
VALUES_OF: dict[str, dict[tuple[str, Any], Any]] = {
    "fednova": {("weights", "p"): "p_normalised"},
}
STATE_OF: dict[str, dict[str, str]] = {
    "ace": {"h_i": "h_i"},
    "aced": {"base_i": "base_i", "h_i": "h_i"},
    "area": {"y_i": "memory"},
    "ca2fl": {"h": "h", "h_i": "h_i"},
    "fadas": {"m": "m", "v": "v", "vhat": "vhat"},
    "fedac": {"C": "C", "C_i": "memory", "m": "m", "v": "v"},
    "fedadam": {"m": "m", "v": "v", "vhat": "vhat"},
    "fedagrac": {"nu": "nu", "nu_i": "memory"},
    "fedawe": {"X_i": "memory", "last_i": "last_i"},
    "feddyn": {"h": "h", "l_i": "memory"},
    "fedecho": {"Z": "Z"},
    "fedstale": {"h_i": "h_i", "interval_i": "interval_i"},
    "fedvarp": {"y_i": "y_i"},
    "mifa": {"G_i": "G_i"},
    "quafl": {"X_i": "memory"},
    "ringleader": {"mean_i": "mean_i", "count_i": "b_i"},
    "scaffold": {"c": "c", "c_i": "memory"},
}


def make_algorithm(name: str, params: dict[str, Any], updates: Sequence[dict[str, Any]] = ()) -> Algorithm:
    """Returns our algorithm for a vector's name and parameters, and for what its updates prescribe.
    Unsupported if we do not know a name or a value."""
    if name not in registry.names("algorithm"):
        raise Unsupported(f"algorithm {name!r}")
    names = OPTIONS | OPTIONS_OF.get(name, {})
    options: dict[str, Any] = dict(UNNAMED.get(name, {}))
    for key, value in params.items():
        if key == "staleness":
            options |= {"staleness" if part == "kind" else part: v for part, v in value.items()}
        else:
            options[names.get(key, key)] = value
    options |= {key: new for (key, old), new in VALUES_OF.get(name, {}).items() if options.get(key) == old}
    try:
        has_alpha = name == "favano" and any("alpha" in one for one in updates)
        cls = prescribed(updates) if has_alpha else registry.find("algorithm", name)
        return cls.make(options)
    except UsageError as error:
        raise Unsupported(str(error)) from None


def prescribed(updates: Sequence[dict[str, Any]]) -> type[FAVANO]:
    """Returns FAVANO with the alphas that every update prescribes. Null, which stands where no step
    was done, is 1."""

    class Prescribed(FAVANO):
        def normalisers(self, state: State, batch: Batch) -> Weights:
            super().normalisers(state, batch)
            return np.array([1.0 if alpha is None else alpha for alpha in updates[batch.version]["alpha"]])

    return Prescribed


class ScriptedBatches(PublicData):
    """Public data whose batches are those that the vector's updates name. Other updates have drawn
    ones."""

    def __init__(self, backend: Backend, updates: Sequence[dict[str, Any]]) -> None:
        super().__init__(backend)
        self.updates = updates

    def batches(self, version: int, size: int, steps: int | None = None) -> Iterator[RowIndices]:
        if "distill" not in self.updates[version]:
            return super().batches(version, size, steps)
        return (np.array(rows, np.int64) for rows in self.updates[version]["distill"])


def scripted_chunks(plan: dict[str, Any], size: int | None = None) -> Iterator[Any]:
    """Yields the plan in chunks of `size` updates. None is one chunk. They have those columns of a
    kernels.scheduler.Chunk that an execution reads, and the consumed jobs in the order in which
    they are consumed."""
    counter: dict[int, int] = {}
    jobs: dict[Any, tuple[int, int, int, int]] = {}
    for job in plan["jobs"]:
        k = counter[job["client"]] = counter.get(job["client"], -1) + 1
        jobs[job["job"]] = (job["client"], k, job["base"], job["steps"])
    updates = [update["jobs"] for update in plan["updates"]]
    size = size or len(updates)
    for begin in range(0, len(updates), size):
        part, later = updates[begin : begin + size], updates[begin + size :]
        place: dict[Any, int] = {}
        consumed_by: list[int] = []
        for update, ids in enumerate(part, begin):
            for i in dict.fromkeys(ids):
                if i in place:
                    raise ValueError(f"plan: job {i} is consumed by two updates")
                place[i] = len(place)
                consumed_by.append(update)
        client, k_column, base, steps = np.array([jobs[i] for i in place], np.int32).T
        yield SimpleNamespace(
            first_version=begin,
            client=client,
            k=k_column,
            base=base,
            steps=steps,
            consumed_by=np.array(consumed_by, np.int32),
            time=np.arange(begin + 1, begin + 1 + len(part), dtype=np.int64),
            offsets=np.cumsum([0, *(len(ids) for ids in part)], dtype=np.int64),
            entries=np.array([place[i] for ids in part for i in ids], np.int64),
            live_bases=np.unique(np.array([jobs[i][2] for ids in later for i in ids if jobs[i][2] <= begin + size], np.int32)),
        )


def _execute(
    vector: dict[str, Any], algorithm: Algorithm, problem: Problem, dtype: str, *, wave: int | None, size: int | None
) -> tuple[list[Vector], State]:
    """Returns the models of all versions and the last state, of a run in waves of at most `wave`
    jobs and chunks of `size` updates."""
    plan, x0 = vector["plan"], np.array(vector["x0"], dtype)
    info = Info(problem.clients, problem.n(), problem.p())
    execution = Execution(algorithm, ReferenceTrainer(problem, dtype=dtype), info, x0, wave_size=wave)
    execution.public = ScriptedBatches(execution.backend, plan["updates"])
    first, trace = x0.copy(), Trace()
    execution.run(scripted_chunks(plan, size), [trace])
    return [first, *trace.x], execution.state


def check_algorithm(vector: dict[str, Any], precision: str) -> float:
    """Returns the largest error as a fraction of its tolerance. Raises Unsupported or Mismatch."""
    name = vector["algorithm"]["name"]
    algorithm = make_algorithm(name, vector["algorithm"]["params"], vector["plan"]["updates"])
    try:
        problem = read_problem(vector["problem"], precision)
    except UsageError as error:
        raise Unsupported(str(error)) from None
    versions, state = _execute(vector, algorithm, problem, precision, wave=None, size=None)
    for wave, size in ((1, None), (None, 1)):
        other, other_state = _execute(vector, algorithm, problem, precision, wave=wave, size=size)
        _same_bits(versions, other, f"x, wave size {wave}, {size or 'all'} updates a chunk")
        _same_bits(state, other_state, f"state, wave size {wave}, {size or 'all'} updates a chunk")
    expected = vector["expected"]
    worst = compare([versions[v] for v in expected["versions"]], expected["x"], vector["tolerance"][precision], "x")
    for key, want in expected.get("state", {}).items():
        field = STATE_OF.get(name, {}).get(key)
        if field is None:
            raise Unsupported(f"state {key!r} of {name}")
        got = _value(algorithm, state, field, problem.clients)
        worst = max(worst, compare(got, want, vector["tolerance"]["state"][key][precision], key))
    return worst


def _value(algorithm: Algorithm, state: State, field: str, clients: int) -> Any:
    """Returns a value of the state as vectors have it, with tables as rows. If the state has no
    value of that name, it is what the algorithm's method of that name derives from the state."""
    if field not in state:
        return getattr(algorithm, field)(state)
    value = getattr(state, field)
    if isinstance(value, TeacherMean):
        return [value.stored(client) for client in range(clients)]
    return value.dense() if isinstance(value, ClientTable) else value


def _same_bits(a: Any, b: Any, where: str) -> None:
    if bits(a) != bits(b):
        raise Mismatch(f"{where}: not the same bits as with maximal waves")
