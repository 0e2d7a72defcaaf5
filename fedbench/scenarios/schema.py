"""The schema of a scenario: every key, its unit and its range. Unknown keys are errors."""

from __future__ import annotations

import functools
import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from fedbench import own_models
from fedbench.errors import nearest
from fedbench.own_metrics import UNSEEN
from fedbench.scenarios.availability_parts import Absent, Alternating, Always, Periodic, Windows
from fedbench.scenarios.base import Float, Integer, Part, PositiveFloat, PositiveInt
from fedbench.scenarios.compute_parts import DelayClasses, Devices, ExponentialSteps, PerJob, PerStep
from fedbench.scenarios.data_parts import (
    HELD_OUT,
    Dirichlet,
    HeldOut,
    Iid,
    Natural,
    Overlapping,
    PublicPart,
    ShardsOfClasses,
    TaskPart,
    TwoClass,
    ValidationPart,
)
from fedbench.scenarios.evaluation_parts import EvaluationPart
from fedbench.scenarios.local_parts import LocalPart
from fedbench.scenarios.network_parts import Network
from fedbench.scenarios.server_parts import RoundsPart, ServerPart

MOST_CLIENTS = 1_000_000
MOST_POINTS = 1 << 21  # points of the evaluation grid
ADDED_KEYS = (
    "availability", "dropout", "rounds", "public", "validation", "task.augmentation", "task.standardize", "local.steps.kind",
    "local.steps.minimum",
    "budget.stop_at_target", "budget.hold_points", "compute.slowdown.shape", "compute.slowdown.by_label",
    "network.download_log_sigma", "network.upload_log_sigma", "network.trace", "compute.slowdown.log_sigma", "evaluation.kind",
    "server", "compute.harmonic_job_seconds", "compute.slowdown.by_size",
    "network.upload_over_compute", "at_work", "budget.hold",
)  # fmt: skip
"""Keys that were added after the first records were made. They are not hashed while they have their
defaults, so the hashes and run ids of these records stay as they are."""

ACCURACY, LOSS = "test_accuracy", "test_loss"
BY_CLASS = ("two_class", "dirichlet", "shards")
"""Kinds of partitions that go by the classes of examples."""
CODE = (("task", "model"), ("task", "loss"), ("local", "optimizer"))
"""Keys that may name code of one's own, whose sum is in a key beside them."""
NOT_HASHED = ("about", "network.trace.folder", "network.trace.upload.folder")
"""Keys that change nothing: the sum of traces is hashed, wherever they are."""


class BudgetPart(Part):
    """Limits of a run, which ends at the one that is reached first.

    `seconds` are virtual. With `stop_at_target` a run also ends at the first point of the
    evaluation grid at which the highest target is met, and was met at each of the `hold_points` - 1
    points before it. With `hold: window` it ends at the first point at which it is certain that the
    target is held as the rules of reaching want it: in all of [t, 1.2 t], and by three different
    models.
    """

    updates: PositiveInt
    seconds: PositiveFloat
    jobs: Annotated[Integer, Field(ge=1, le=2**62)] = 100_000_000
    stop_at_target: bool = False
    hold_points: Annotated[Integer, Field(ge=1, le=1000)] = 1
    hold: Literal["points", "window"] = "points"

    def _check(self) -> None:
        if self.hold == "window" and not self.stop_at_target:
            raise ValueError("hold: window needs stop_at_target: true, got it without")
        if self.hold == "window" and self.hold_points != 1:
            raise ValueError(f"hold: window counts no points, so hold_points must be 1, got {self.hold_points}")
        if self.hold_points != 1 and not self.stop_at_target:
            raise ValueError(f"hold_points other than 1 needs stop_at_target: true, got {self.hold_points} without it")


class Target(Part):
    """A value whose time is in the record: that of the first evaluation at which the metric is at
    or above it. The metric is test accuracy, test loss, of which lower is better, or one of
    `evaluation.metrics`, which may also say so."""

    metric: Annotated[str, Field(max_length=60)] = ACCURACY
    value: Annotated[Float, Field(allow_inf_nan=False)]

    def _check(self) -> None:
        if self.metric == ACCURACY and not 0 < self.value <= 1:
            raise ValueError(f"value: expected a test accuracy above 0 and at most 1, got {self.value:g}")


class Scenario(Part):
    """A scenario: which examples every client has, how fast and how reliable clients are, and when
    a run ends.

    `dropout` is the probability that a job is lost for no other reason, at an instant that is
    uniform over its duration. `at_work` caps the jobs that are under way at a time, for every
    algorithm: one that may have more is not applicable. Without it, algorithms decide themselves.
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
    at_work: PositiveInt | None = None
    rounds: RoundsPart = RoundsPart()
    server: ServerPart = ServerPart()
    public: PublicPart | None = None
    validation: ValidationPart | None = None
    budget: BudgetPart
    evaluation: EvaluationPart
    targets: Annotated[tuple[Target, ...], Field(max_length=100)] = ()

    def _check(self) -> None:
        points = self.evaluation.evaluations(self.budget.seconds)
        if points >= MOST_POINTS:  # a logarithmic grid has some ten thousand at most
            first = self.evaluation.step_seconds(0)
            raise ValueError(
                f"evaluation.every_seconds: expected at most {MOST_POINTS:,} points of evaluation in budget.seconds, got {points:,.0f}: "
                f"{self.budget.seconds:g} / {first:g}"
            )
        if self.at_work is not None and self.at_work > self.clients:
            raise ValueError(f"at_work: expected at most the {self.clients} clients, got {self.at_work}")
        if self.task.loss is not None and self.local.label_smoothing:
            raise ValueError(
                f"local.label_smoothing is a part of the cross-entropy, got task.loss {own_models.short(self.task.loss)}"
            )
        if self.task.is_regression:
            self._check_regression()
        self._check_targets()
        self._check_held_out()
        if isinstance(self.compute, PerStep) and self.compute.harmonic_job_seconds is not None and self.local.epochs is not None:
            raise ValueError(
                "compute.harmonic_job_seconds needs local.steps, since with epochs jobs are as long as the clients' data and their "
                f"throughput says nothing, got epochs {self.local.epochs}"
            )
        for key, kind, given in (
            ("local.steps", "number", self.local.steps),
            ("availability.rows", "row", getattr(self.availability, "rows", None)),
            ("compute.seconds_per_example", "number", getattr(self.compute, "seconds_per_example", None)),
        ):
            if isinstance(given, tuple) and len(given) != self.clients:
                raise ValueError(f"{key}: expected one {kind} for each of {self.clients} clients, got {len(given)}")
        for way, links in self.network.links.items():
            if links.given is not None and len(links.given) not in (1, self.clients):
                raise ValueError(
                    f"network.trace{way}.given: expected one trace, or one for each of {self.clients} clients, got {len(links.given)}"
                )

    def _check_regression(self) -> None:
        """Raises ValueError for what goes by classes."""
        by_label = getattr(getattr(self.compute, "slowdown", None), "by_label", None)
        for key, is_given in (
            (f"partition.kind {self.partition.kind}", self.partition.kind in BY_CLASS),
            ("local.label_smoothing", self.local.label_smoothing),
            ("local.order by_class", self.local.order == "by_class"),
            ("compute.slowdown.by_label", by_label),
            *((f"evaluation.metrics {one.name}", one.code is None) for one in self.evaluation.metrics),
        ):
            if is_given:
                raise ValueError(f"{key} goes by the classes of labels, got task.kind regression, whose labels are real numbers")

    def _check_targets(self) -> None:
        known = [*([] if self.task.is_regression else [ACCURACY]), LOSS, *(one.name for one in self.evaluation.metrics)]
        for target in self.targets:
            if target.metric not in known:
                raise ValueError(
                    f"targets: expected a metric of {', '.join(known)}, got {target.metric!r}{nearest(target.metric, known)}"
                )
        if self.budget.stop_at_target and len({target.metric for target in self.targets}) > 1:
            raise ValueError(
                "budget.stop_at_target: expected targets of one metric, got several; a run stops at the last of them"
            )
        if self.budget.stop_at_target and not self.targets:
            raise ValueError("budget.stop_at_target: true needs at least one of targets, got none")

    def _check_held_out(self) -> None:
        named = [one.name for one in self.evaluation.metrics if one.code is None and one.name.startswith(UNSEEN)]
        if named and not self.held_out_clients:
            raise ValueError(f"evaluation.metrics: {named[0]} needs partition.held_out_clients, got none")
        if (all_clients := self.clients + self.held_out_clients) > MOST_CLIENTS:
            raise ValueError(
                f"partition.held_out_clients: expected at most {MOST_CLIENTS:,} clients with those that take part, got {all_clients:,}"
            )
        if self.held_out_clients and self.public is not None and self.public.source == self.task.name:
            raise ValueError(
                f"public.source: expected no examples of held-out clients, got {self.task.name}, all of its training examples; held_out "
                "takes some that no client has"
            )

    @property
    def held_out_clients(self) -> int:
        """Returns how many clients are dealt examples beside the `clients`, and never take part."""
        return 0 if isinstance(self.partition, Overlapping) else self.partition.held_out_clients

    @property
    def goal(self) -> Target | None:
        """Returns the target at which a run stops, which is the highest one, or the lowest one of a
        metric of which less is better; None if a run does not stop at a target."""
        return max(self.targets, key=lambda one: self.sign(one.metric) * one.value) if self.budget.stop_at_target else None

    def sign(self, metric: str) -> float:
        """Returns 1.0 if more of a metric is better, and -1.0 if less is."""
        lower = (LOSS, "train_loss", *(one.name for one in self.evaluation.metrics if not one.higher_is_better))
        return -1.0 if metric in lower else 1.0

    @property
    def judged_by(self) -> str:
        """Returns the metric that every model of the task has: its accuracy or, if labels are real
        numbers, its loss."""
        return LOSS if self.task.is_regression else ACCURACY

    @property
    def compared(self) -> tuple[Target, ...]:
        """Returns the targets by which algorithms are compared: those of test accuracy or, if there
        are none, of the metric of the first target."""
        metrics = [one.metric for one in self.targets]
        chosen = ACCURACY if ACCURACY in metrics else metrics[0] if metrics else None
        return tuple(one for one in self.targets if one.metric == chosen)

    @property
    def loses_jobs(self) -> bool:
        """Returns whether jobs can be lost or late here, whatever the algorithm."""
        is_lost = isinstance(self.availability, Absent) and self.availability.when_offline == "lost"
        return is_lost or self.dropout > 0 or bool(self.rounds.text)

    @property
    def holds_out_public_data(self) -> bool:
        """Returns whether the server's public data are taken out of the task's own training
        data."""
        return self.public is not None and self.public.source == HELD_OUT

    def resolved(self) -> dict[str, JsonValue]:
        """Returns all keys with their values, defaults included. They can be written as JSON, and
        read as a scenario again."""
        return self.model_dump(mode="json", by_alias=True)

    def content_hash(self) -> str:
        """Returns the hash of everything that can change a result, as 16 hexadecimal digits.

        It leaves out `about`, the paths of files whose sums are known, and defaults of ADDED_KEYS.
        """
        return _content_hash(self)


@functools.lru_cache(maxsize=256)
def _content_hash(scenario: Scenario) -> str:
    """Returns the hash of a scenario. It is kept, since thousands of records have one scenario."""
    content = scenario.resolved()
    left_out = [*NOT_HASHED, *(key for key in ADDED_KEYS if _is_default(scenario, key))]
    if scenario.task.sha256:
        left_out += ["task.file"] if isinstance(scenario.task.test, HeldOut) else ["task.file", "task.test"]
    if scenario.task.text is not None and scenario.task.text.sha256:
        left_out += ["task.text.train", "task.text.test"]
    if scenario.task.encoder_sha256:
        left_out.append("task.encoder")
    for key in left_out:
        _drop(content, key)
    for group, key in CODE:
        part = getattr(scenario, group)
        if getattr(part, f"{key}_sha256") is not None:  # the sum is hashed, wherever the file is
            _drop(content, f"{group}.{key}")
            content[key] = own_models.name_of(getattr(part, key))
    if metrics := scenario.evaluation.metrics:
        named = [(one.code and own_models.name_of(one.code), one) for one in metrics]
        content["metrics"] = [[name, one.sha256, one.name, one.higher_is_better] for name, one in named]
        _drop(content, "evaluation.metrics")
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _is_default(part: object, path: str) -> bool:
    """Returns whether a part has the key of this path, with its default."""
    *groups, key = path.split(".")
    for group in groups:
        part = getattr(part, group, None)
    fields = type(part).model_fields if isinstance(part, Part) else {}
    return key in fields and bool(getattr(part, key) == fields[key].default)


def _drop(content: object, path: str) -> None:
    """Deletes the key of this path from groups of keys, if it is there."""
    *groups, key = path.split(".")
    for group in groups:
        content = content.get(group) if isinstance(content, dict) else None
    if isinstance(content, dict):
        content.pop(key, None)
