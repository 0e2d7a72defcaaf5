"""The schema of a scenario: every key, its unit and its range. Unknown keys are errors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fedbench.scenarios.base import Float, Integer, Part, PositiveFloat, PositiveInt, Seconds
from fedbench.scenarios.data_parts import (
    Dirichlet,
    Iid,
    Natural,
    Overlapping,
    PublicPart,
    ShardsOfClasses,
    TaskPart,
    TwoClass,
    ValidationPart,
)
from fedbench.scenarios.delays import DelayClasses, Devices, ExponentialSteps
from fedbench.scenarios.local_parts import LocalPart
from fedbench.scenarios.network_parts import Network
from fedbench.scenarios.slowdowns import Slowdown

MOST_CLIENTS = 1_000_000
MOST_POINTS = 1 << 21  # of the evaluation grid
ADDED_KEYS = (
    "availability", "dropout", "rounds", "public", "validation", "task.augmentation", "local.steps.kind", "local.steps.minimum",
    "budget.stop_at_target", "budget.hold_points", "compute.slowdown.shape", "compute.slowdown.by_label",
    "network.download_log_sigma", "network.upload_log_sigma", "network.trace", "compute.slowdown.log_sigma",
)  # fmt: skip
"""Keys that came after the first records: while they have their defaults, the hash and so the run
ids are as before."""


class PerStep(Part):
    """A local step takes `step_seconds` times the client's slowdown."""

    kind: Literal["per_step"] = "per_step"
    step_seconds: Seconds
    slowdown: Slowdown = Slowdown()


class Constant(Part):
    distribution: Literal["constant"] = "constant"
    seconds: Seconds


class Uniform(Part):
    distribution: Literal["uniform"]
    low_seconds: Seconds
    high_seconds: Seconds


class Exponential(Part):
    distribution: Literal["exponential"]
    mean_seconds: Seconds


class Lognormal(Part):
    """exp(log_mean + log_sigma z) seconds."""

    distribution: Literal["lognormal"]
    log_mean: Annotated[Float, Field(allow_inf_nan=False)]
    log_sigma: Annotated[Float, Field(ge=0, allow_inf_nan=False)]


class Pareto(Part):
    distribution: Literal["pareto"]
    scale_seconds: Seconds
    shape: PositiveFloat


class PerJob(Part):
    """A whole job takes a drawn time, whatever its steps."""

    kind: Literal["per_job"]
    time: Constant | Uniform | Exponential | Lognormal | Pareto = Field(discriminator="distribution")


class Always(Part):
    """Every client is always there."""

    kind: Literal["always"] = "always"


class Absent(Part):
    """`when_offline`: the job of a client that leaves is lost at that instant, or it pauses until
    the client is back."""

    when_offline: Literal["lost", "paused"] = "lost"


class Periodic(Absent):
    """On for the first `on_fraction` of every `period_seconds`; at time 0 a client is the fraction
    `phase` into its period, or (none) one drawn uniformly per client."""

    kind: Literal["periodic"]
    period_seconds: PositiveFloat
    on_fraction: Annotated[Float, Field(gt=0, le=1)]
    phase: Annotated[Float, Field(ge=0, lt=1)] | None = None


class Rarely(Part):
    """A share of the clients, each drawn with this probability, whose absences are of another
    mean."""

    share: Annotated[Float, Field(ge=0, le=1)]
    mean_off_seconds: Seconds


class Alternating(Absent):
    """Independent exponential stays and absences with these means, stationary from time 0."""

    kind: Literal["alternating"]
    mean_on_seconds: Annotated[Float, Field(ge=1e-3, le=1e9)]
    mean_off_seconds: Seconds
    rarely: Rarely | None = None


class Windows(Absent):
    """Scripted: `rows` holds per client its [on, off] pairs in seconds, ascending and apart; with
    `period_seconds` they repeat. In a file, `file` names a CSV or JSON file of client, on, off
    instead."""

    kind: Literal["table"]
    rows: tuple[tuple[tuple[Seconds, Seconds], ...], ...]
    period_seconds: PositiveFloat | None = None


class RoundsPart(Part):
    """For every algorithm that works in rounds: a round is closed `deadline_seconds` after its
    start with what has arrived; `over_selection` clients more than it needs are selected, and the
    first to arrive count."""

    deadline_seconds: Annotated[Float, Field(ge=1e-9, le=1e9)] | None = None
    over_selection: Annotated[Integer, Field(ge=0, le=2**31 - 1)] = 0

    @property
    def text(self) -> str:
        """Returns what it asks for in words, nothing if it asks for nothing."""
        deadline = "" if self.deadline_seconds is None else f"deadline {self.deadline_seconds:g} s"
        more = f"over-selection {self.over_selection}" if self.over_selection else ""
        return ", ".join(part for part in (deadline, more) if part)


class BudgetPart(Part):
    """A run ends at whatever comes first. `seconds` are virtual. `stop_at_target`: also at the
    first point of the evaluation grid at which the highest target is met, and was met at each of
    the `hold_points` - 1 points before it."""

    updates: PositiveInt
    seconds: PositiveFloat
    jobs: Annotated[Integer, Field(ge=1, le=2**62)] = 100_000_000
    stop_at_target: bool = False
    hold_points: Annotated[Integer, Field(ge=1, le=1000)] = 1

    @model_validator(mode="after")
    def _holds_what_stops(self) -> BudgetPart:
        if self.hold_points != 1 and not self.stop_at_target:
            raise ValueError(f"hold_points other than 1 needs stop_at_target: true, got {self.hold_points} without it")
        return self


class EvaluationPart(Part):
    """Grid of virtual time on which models are evaluated; it costs nothing and changes nothing."""

    every_seconds: Annotated[Float, Field(ge=1e-3, le=1e9)]


class Target(Part):
    metric: Literal["test_accuracy"] = "test_accuracy"
    value: Annotated[Float, Field(gt=0, le=1)]


class Scenario(Part):
    """Heterogeneity as data: who has which examples, how fast and how reliable they are, and when
    the comparison ends.

    `dropout`: the probability that a job is lost on its own, at a uniform instant of its run.
    """

    schema_version: Literal[1] = Field(alias="schema")
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,99}$")]
    about: Annotated[str, Field(max_length=10_000)]
    task: TaskPart
    clients: Annotated[Integer, Field(ge=1, le=MOST_CLIENTS)]
    partition: Iid | TwoClass | Dirichlet | ShardsOfClasses | Overlapping | Natural = Field(discriminator="kind")
    local: LocalPart
    compute: PerStep | PerJob | DelayClasses | ExponentialSteps | Devices = Field(discriminator="kind")
    network: Network = Network()
    availability: Always | Periodic | Alternating | Windows = Field(default=Always(), discriminator="kind")
    dropout: Annotated[Float, Field(ge=0, lt=1)] = 0.0
    rounds: RoundsPart = RoundsPart()
    public: PublicPart | None = None
    validation: ValidationPart | None = None
    budget: BudgetPart
    evaluation: EvaluationPart
    targets: Annotated[tuple[Target, ...], Field(max_length=100)] = ()

    @model_validator(mode="after")
    def _grid_fits(self) -> Scenario:
        points = self.budget.seconds / self.evaluation.every_seconds
        if points >= MOST_POINTS:
            raise ValueError(
                f"evaluation.every_seconds: expected at most {MOST_POINTS:,} points of evaluation in budget.seconds, got {points:,.0f}: "
                f"{self.budget.seconds:g} / {self.evaluation.every_seconds:g}"
            )
        return self

    @model_validator(mode="after")
    def _stops_at_some_target(self) -> Scenario:
        if self.budget.stop_at_target and not self.targets:
            raise ValueError("budget.stop_at_target: true needs at least one of targets, got none")
        return self

    @model_validator(mode="after")
    def _one_for_every_client(self) -> Scenario:
        for key, kind, given in (
            ("local.steps", "number", self.local.steps if isinstance(self.local.steps, tuple) else None),
            ("availability.rows", "row", self.availability.rows if isinstance(self.availability, Windows) else None),
            (
                "compute.seconds_per_example",
                "number",
                self.compute.seconds_per_example if isinstance(self.compute, Devices) else None,
            ),
        ):
            if given is not None and len(given) != self.clients:
                raise ValueError(f"{key}: expected one {kind} for each of {self.clients} clients, got {len(given)}")
        return self

    @model_validator(mode="after")
    def _traces_of_all(self) -> Scenario:
        for way, links in self.network.links.items():
            if links.given is not None and len(links.given) not in (1, self.clients):
                raise ValueError(
                    f"network.trace{way}.given: expected one trace, or one for each of {self.clients} clients, got {len(links.given)}"
                )
        return self

    @property
    def goal(self) -> Target | None:
        """The target at which a run stops, which is the highest; None if a run does not stop at
        one."""
        return max(self.targets, key=lambda target: target.value) if self.budget.stop_at_target else None

    def resolved(self) -> dict[str, Any]:
        """All keys with their values, defaults included; JSON-able, and readable back."""
        return self.model_dump(mode="json", by_alias=True)

    def content_hash(self) -> str:
        """Returns the hash of everything that can change a result: all but `about`, where files
        lie, and defaults of ADDED_KEYS."""
        content = self.resolved()
        del content["about"]
        if self.task.sha256:
            del content["task"]["file"], content["task"]["test"]
        for links in trace_sources(content):
            links.pop("folder", None)  # its sum says what is in it, wherever it lies
        for path in ADDED_KEYS:
            _drop_default(self, content, path.split("."))
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def trace_sources(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Where a scenario's content, validated or not, speaks of traces: of both directions, or of
    one."""
    network = content.get("network")
    trace = network.get("trace") if isinstance(network, Mapping) else None
    if not isinstance(trace, dict):
        return []
    return [trace, *([trace["upload"]] if isinstance(trace.get("upload"), dict) else [])]


def _drop_default(part: Any, content: dict[str, Any], path: Sequence[str]) -> None:
    """Take a key out of the content of a part if the part has it and with its default."""
    *groups, key = path
    for group in groups:
        part, content = getattr(part, group, None), content.get(group, {})
    fields = type(part).model_fields if isinstance(part, Part) else {}
    if key in fields and getattr(part, key) == fields[key].default:
        del content[key]
