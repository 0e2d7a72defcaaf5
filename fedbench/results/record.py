"""A record: everything that a run leaves behind. Its fields are listed in ARCHITECTURE.md."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field, JsonValue, SkipValidation, ValidationError, model_validator

from fedbench import registry
from fedbench.errors import RecordError, UsageError
from fedbench.refusals import first_problem
from fedbench.results.digests import Digest
from fedbench.results.sections import (
    SERVER_LEDGER,
    Digests,
    Final,
    Hash,
    Hit,
    Ledger,
    Outcome,
    Provenance,
    Section,
    Spec,
    Texts,
)
from fedbench.scenarios.evaluation_parts import MOST_OWN
from fedbench.scenarios.schema import Scenario

SPEC_VERSION = 2
SCHEMA = 3
SERVER_CURVE = "server_passes"
"""A column that the curves of an algorithm have whose server computes with models: the running
total of that work, in forward passes of an example."""
COLUMNS = MappingProxyType({
    "seconds": np.float64, "version": np.int64, "steps": np.int64, "gradient_evaluations": np.int64, "bytes": np.int64,
    "test_accuracy": np.float32, "test_loss": np.float32, "train_loss": np.float32, SERVER_CURVE: np.int64,
})  # fmt: skip
"""The columns of curves, each with the kind of its numbers in a file."""
CURVES = tuple(name for name in COLUMNS if name != SERVER_CURVE)
RESULT = ("outcome", "final", "time_to_target", "ledger", "warnings")
"""The sections that must be the same when a run is repeated, as must digests and curves."""

Column = npt.NDArray[np.float64] | npt.NDArray[np.float32] | npt.NDArray[np.int64]
Curves = Mapping[str, Column]


class Record(Section):
    """The record of one run.

    Attributes
    ----------
    run_id : str
        16 hexadecimal digits, a hash of everything that can change a result.
    spec : Spec
        Scenario, algorithm and seed.
    provenance : Provenance
        The code, its build and the kind of machine.
    outcome : Outcome
        How the run ended.
    final : Final
        The last metrics.
    time_to_target : tuple of Hit
        For each target of the scenario, when it was first met.
    ledger : Ledger
        What the simulated system did.
    digests : Digests
        Short names for inputs, plan, model and results.
    curves : mapping of str to array (T,)
        The columns CURVES over the evaluation grid, those of metrics of one's own by name, and
        SERVER_CURVE if the server's work was counted. Seconds are virtual. Steps, mini-batch
        gradients and bytes count what the simulated clients did, wasted or not.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, title="record")

    run_id: Hash
    spec: Spec
    provenance: Provenance
    outcome: Outcome
    said: Texts = Field(alias="warnings")
    final: Final
    time_to_target: Annotated[tuple[Hit, ...], Field(max_length=100, strict=False)]
    ledger: Ledger
    digests: Digests
    curves: Annotated[SkipValidation[Curves], Field(exclude=True)]

    @model_validator(mode="after")
    def _has_its_curves(self) -> Record:
        lengths, names = {name: len(column) for name, column in self.curves.items()}, (*CURVES, *own_curves(self.spec.scenario))
        if set(lengths) - {SERVER_CURVE} != set(names) or len(set(lengths.values())) != 1:
            raise ValueError(f"expected curves {', '.join(names)} of one length, got {lengths}")
        if (found := sorted(self.final.own)) != (named := sorted(own_curves(self.spec.scenario))):
            raise ValueError(f"final.own: expected {', '.join(named) or 'no metrics'}, got {', '.join(found) or 'none'}")
        return self

    def __repr__(self) -> str:
        """Returns what ran and how it ended, rather than all fields."""
        return f"Record({self.scenario}, {self.selector}, seed {self.seed}, {self.state})"

    __str__ = __repr__

    @property
    def scenario(self) -> str:
        return self.spec.scenario.name

    @property
    def selector(self) -> str:
        return selector(self.spec)

    @property
    def seed(self) -> int:
        return self.spec.seed

    @property
    def state(self) -> str:
        """Returns finished, diverged or stalled."""
        return self.outcome.state

    @property
    def warnings(self) -> tuple[str, ...]:
        """Returns sentences about the data, what says that no client was ever there, and the
        sentences in which the algorithm says how the run went."""
        empty = ("no client was ever there before the run ended, so nothing was trained",)
        is_empty = self.ledger.available_fraction == 0 and self.ledger.end_seconds > 0
        return (*self.provenance.data_warnings, *(empty if is_empty else ()), *self.said)

    def as_dict(self) -> dict[str, JsonValue]:
        """Returns all but the curves, as record.json has it."""
        return {"schema": SCHEMA, **super().as_dict()}


def of_json(content: object, curves: Curves, where: str) -> Record:
    """Returns the record whose sections were read as JSON, with its curves. Those of the schema
    before this one are taken too.

    Raises RecordError, which begins with `where` and names the first field that is missing,
    unknown, of another kind or too large.
    """
    if not isinstance(content, dict):
        raise RecordError(f"{where}: expected sections by name, got {content!r:.60}")
    schema, sections = content.get("schema"), {name: value for name, value in content.items() if name != "schema"}
    if schema == SCHEMA - 1:
        sections = _without_task(sections, where)
    elif schema != SCHEMA:
        older = "; it was made by an older version whose clock and ledger differ, run it again" if schema == 1 else ""
        raise RecordError(f"{where}: expected schema {SCHEMA} or {SCHEMA - 1}, got {schema!r:.60}{older}")
    if "curves" in sections:
        raise RecordError(f"{where}: curves: they are no section; it is not what a run writes")
    try:
        return Record.model_validate({**sections, "curves": curves})
    except ValidationError as errors:
        problem = first_problem(errors, "value_error", "scenario")
        raise RecordError(f"{where}: {problem}; it is not what a run writes") from None


def _without_task(sections: dict[str, object], where: str) -> dict[str, object]:
    """Returns the sections of a record of schema 2 as they are today. Its specification had the
    task of the scenario once more."""
    spec = sections.get("spec")
    if not isinstance(spec, dict):
        return sections
    scenario = spec.get("scenario")
    task = scenario.get("task") if isinstance(scenario, dict) else None
    if "task" not in spec or spec["task"] != task:
        raise RecordError(f"{where}: spec.task: the rest of the record gives {task!r:.80}, it says {spec.get('task')!r:.80}")
    return {**sections, "spec": {name: value for name, value in spec.items() if name != "task"}}


def selector(spec: Spec) -> str:
    """Returns the selector that names the `spec` of a record today: with the options that are no
    defaults now, whatever were at the time of the run. So it describes the run, runs with equal
    options have one selector, and runs with different options never do.

    An algorithm that is not built in keeps its selector, since its class may not be there, and so
    does a record that was not checked and whose selector is none.
    """
    algorithm, written = spec.algorithm, spec.selector
    if algorithm.origin is not None or algorithm.name not in registry.ALGORITHMS:
        return written
    try:
        _, named = registry.parse_selector(written)
    except UsageError:
        return written
    if not named.items() <= algorithm.options.items():  # it contradicts itself, which a check says
        return written
    defaults = _defaults(algorithm.name)
    options = {key: value for key, value in algorithm.options.items() if key in defaults}
    return registry.selector(algorithm.name, options, defaults)


@functools.cache
def _defaults(name: str) -> dict[str, JsonValue]:
    """Returns the defaults of a built-in algorithm as a record has them, with lists for tuples."""
    return dict(json.loads(json.dumps(registry.find("algorithm", name)().options())))


def first_at_least(places: Column, values: Column, target: float) -> float | None:
    """Returns the first of `places` at which `values` is at least the target, None if there is
    none. Nothing is interpolated. NaN counts as less than any target."""
    hits = np.flatnonzero(values >= target)
    return float(places[hits[0]]) if len(hits) else None


def hits(scenario: Scenario, curves: Curves, end: float) -> tuple[Hit, ...]:
    """Returns when the curves first meet every target of a scenario. A run that ended at `end`
    misses the others."""
    found = []
    for target in scenario.targets:
        sign = scenario.sign(target.metric)
        seconds = first_at_least(curves["seconds"], sign * curves[target.metric], sign * target.value)
        found.append(Hit(metric=target.metric, value=target.value, seconds=seconds, censored_at=end))
    return tuple(found)


def first_held(values: Column, target: float, points: int) -> int | None:
    """Returns the index of the first value that is at least the target and follows `points` - 1
    others that are, None if there is none. NaN counts as less than any target."""
    places = np.arange(len(values))
    last_less = np.maximum.accumulate(np.where(values >= target, -1, places))
    held = np.flatnonzero(places - last_less >= points)
    return int(held[0]) if len(held) else None


def run_id(scenario_hash: str, name: str, options: Mapping[str, object], seed: int, sha256: str = "") -> str:
    """Returns the id of a run: 16 hexadecimal digits, a hash of everything that can change a
    result. Trainer, workers and waves cannot. `name` and `options` are the algorithm's, and
    `sha256` is that of its file if it is not built in."""
    content = [SPEC_VERSION, scenario_hash, name, options, seed, *([sha256] if sha256 else [])]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def own_curves(scenario: Scenario) -> list[str]:
    """Returns the names of the metrics of one's own, which have a column each."""
    return [one.name for one in scenario.evaluation.metrics]


def own_curves_in(spec: object) -> list[str]:
    """Returns what `own_curves` returns for the scenario in a `spec` as JSON has it, which need not
    be one: what has another form has no such metrics."""
    found = spec
    for key in ("scenario", "evaluation", "metrics"):
        found = found.get(key) if isinstance(found, dict) else None
    names = [one.get("name") for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return [name for name in names if isinstance(name, str)][:MOST_OWN]


def columns_of(curves: Iterable[str]) -> tuple[str, ...]:
    """Returns the names of the columns that these curves have, in their order: those of one's own
    are the last."""
    names = list(curves)
    return (*(name for name in COLUMNS if name in names), *(name for name in names if name not in COLUMNS))


def kind_of(column: str) -> np.dtype:
    """Returns the kind of the numbers in a column: metrics of one's own are as others are."""
    return np.dtype(COLUMNS.get(column, np.float32))


def result_digest(record: Record) -> str:
    """Returns the digest over everything that must be the same when a run is repeated, but for the
    server's work: the other digests, the sections of RESULT, and the curves."""
    others = {name: value for name, value in record.digests.as_dict().items() if name not in ("result", "server")}
    ledger = {name: value for name, value in record.ledger.as_dict().items() if name not in SERVER_LEDGER}
    hits = [one.as_dict() for one in record.time_to_target]
    content = [others, [record.outcome.as_dict(), record.final.as_dict(), hits, ledger, list(record.said)]]
    names = (*CURVES, *own_curves(record.spec.scenario))
    return Digest().add(_text(content), *(record.curves[name] for name in names)).hex()


def server_digest(record: Record) -> str | None:
    """Returns the digest over what a record has of the server's work; None if it has nothing."""
    if SERVER_CURVE not in record.curves:
        return None
    ledger = {name: value for name, value in record.ledger.as_dict().items() if name in SERVER_LEDGER}
    return Digest().add(_text(ledger), record.curves[SERVER_CURVE]).hex()


def with_results(record: Record) -> Record:
    """Returns a record with the digests that are made of the others, of sections and of curves."""
    results = {"result": result_digest(record), "server": server_digest(record)}
    return record.model_copy(update={"digests": record.digests.model_copy(update=results)})


def _text(content: object) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(content, sort_keys=True).encode(), np.uint8)
