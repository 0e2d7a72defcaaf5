"""The sections of a record: what a run writes, and all that is accepted of a record that anybody
may have written. Sizes and kinds are checked before anything is made of them."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, field_serializer, model_validator
from pydantic_core import PydanticCustomError

from fedbench.errors import UsageError
from fedbench.scenarios.evaluation_parts import MOST_OWN
from fedbench.scenarios.load import validate
from fedbench.scenarios.schema import Scenario

Metric = Literal["test_accuracy", "test_loss", "train_loss"]
METRICS: tuple[Metric, ...] = ("test_accuracy", "test_loss", "train_loss")

Word = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=10_000)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=100)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Sum = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Texts = Annotated[tuple[Text, ...], Field(max_length=100, strict=False)]


class Section(BaseModel):
    """A section cannot be changed. A key that is unknown, missing or of another kind is an error.

    What has its default is not written: such a key is younger than the first records, or says
    nothing where it has its default.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    def as_dict(self) -> dict[str, JsonValue]:
        """Returns the section as JSON has it."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


class Origin(Section):
    """How to find an algorithm that is not built in, see `fedbench.origins.origin`."""

    kind: Literal["file", "entry point", "object"]
    class_: Annotated[str, Field(alias="class", pattern=r"^\w+$", max_length=200)]
    file: Annotated[str, Field(pattern=r"^[^/\\]+\.py$", max_length=255)] = ""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = ""
    package: Word = ""
    version: Word = ""

    @model_validator(mode="after")
    def _has_its_file(self) -> Self:
        if self.kind == "file" and not (self.file and self.sha256):
            raise ValueError("an algorithm in a file needs the file and its sha256")
        return self


class Used(Section):
    """The algorithm of a run with all its options, and what a reader must know of it that may not
    have it."""

    name: Name
    options: Annotated[dict[Word, JsonValue], Field(max_length=100)]
    origin: Origin | None = None
    requires: Annotated[tuple[Word, ...], Field(max_length=100, strict=False)] = ()
    reference: bool = False
    title: Annotated[str, Field(max_length=100)] = ""

    @property
    def where(self) -> dict[str, str]:
        """Returns the origin by its keys; nothing for an algorithm that is built in."""
        return {} if self.origin is None else {key: str(value) for key, value in self.origin.as_dict().items()}


def _scenario(content: object) -> Scenario:
    if isinstance(content, Scenario):
        return content
    try:
        if not isinstance(content, dict):
            raise ValueError(f"expected keys, got {content!r:.60}")
        return _validated(json.dumps(content))
    except (UsageError, RecursionError, TypeError, ValueError) as error:
        raise PydanticCustomError("scenario", "it is no scenario: {why}", {"why": str(error)}) from None


@functools.lru_cache(maxsize=64)
def _validated(content: str) -> Scenario:
    """Returns the scenario in a JSON text. Thousands of records have the same few scenarios."""
    return validate(json.loads(content), "scenario")


class Spec(Section):
    """What was run. `selector` names the options that were no defaults at the time. `overrides` are
    the settings by which the scenario departs from the library's of its name, None if the library
    has none."""

    scenario: Annotated[Scenario, BeforeValidator(_scenario)]
    scenario_hash: Hash
    algorithm: Used
    selector: Text
    overrides: Annotated[tuple[Text, ...], Field(max_length=1000, strict=False)] | None = ()
    seed: Count

    @field_serializer("scenario")
    def _resolved(self, scenario: Scenario) -> dict[str, JsonValue]:
        return scenario.resolved()


class Provenance(Section):
    """The code, its build and the kind of machine, without names of hosts and users. Seconds are
    those of the machine. `server_device` is the device of the server's step if it is not the CPU,
    and `lanes` how many jobs a device trained side by side."""

    version: Word
    commit: Word | None
    dirty: bool | None
    compiler: Text = ""
    flags: Text = ""
    instruction_set: Word
    cpu: Text = ""
    python: Word = ""
    libraries: Annotated[dict[Word, Word], Field(max_length=100)]
    files: Annotated[dict[Text, Word], Field(max_length=10_000)] = {}
    trainer: Word
    trainer_reason: Text = ""
    device: Word = ""
    server_device: Word = ""
    gpu: Text = ""
    lanes: Count = 0
    data_warnings: Texts = ()
    workers: Count | None = None
    wall_seconds: Amount | None = None
    server_seconds: Amount | None = None
    server_seconds_per_update: Amount | None = None


class Outcome(Section):
    """How a run ended. `version` is that at which it diverged."""

    state: Literal["finished", "diverged", "stalled"]
    ended_by: Word
    message: Text
    version: Count | None = None


class Final(Section):
    """The last version and its metrics, which are None after a divergence. `evaluated_on` is test
    or validation, and `own` are metrics of one's own by name."""

    version: Count
    seconds: Amount
    evaluated_on: Word
    test_accuracy: Fraction | None
    test_loss: Number | None
    train_loss: Number | None
    client_accuracy_mean: Fraction | None
    client_accuracy_worst_decile: Fraction | None
    own: Annotated[dict[Name, Number | None], Field(max_length=MOST_OWN)] = {}


class Hit(Section):
    """The virtual seconds of the first evaluation that meets a target, None if none does by the end
    of the run, `censored_at`."""

    metric: Name
    value: Number
    seconds: Amount | None
    censored_at: Amount


class Ledger(Section):
    """What the simulated system did, see ARCHITECTURE.md. Older records lack what was not counted
    then. The four counts of the server's own work are there together, or not at all."""

    end_seconds: Amount
    updates: Count
    jobs: Count | None = None
    jobs_consumed: Count | None = None
    jobs_left: Count | None = None
    jobs_dropped_out: Count | None = None
    jobs_late: Count | None = None
    busy_seconds_lost: Amount | None = None
    steps_done: Count | None = None
    steps_wasted: Count | None = None
    gradient_evaluations: Count
    trained_steps: Count
    avoided_steps: Count | None = None
    bytes_down: Count
    bytes_up: Count
    bytes_wasted: Count | None = None
    busy_seconds: Amount | None = None
    busy_fraction: Amount | None = None
    staleness_mean: Amount | None = None
    staleness_max: Count
    staleness_histogram: Annotated[tuple[Count, ...], Field(max_length=1000, strict=False)] | None = None
    participation_min: Count | None = None
    participation_max: Count | None = None
    participation_gini: Number | None = None
    available_fraction: Amount | None = None
    participation_gini_available: Number | None = None
    messages_peak: Count | None = None
    server_vectors: Count | None = None
    server_state_bytes: Count | None = None
    public_logits_bytes: Count | None = None
    checkpoint_bytes_peak: Count | None = None
    server_forward_examples: Count | None = None
    server_gradient_examples: Count | None = None
    public_logits_vectors: Amount | None = None
    server_busy_seconds: Amount | None = None

    def share(self, parts: Sequence[str], whole: str) -> float | None:
        """Returns the share of some counts in another; None if one of them is not there, or if the
        whole is 0."""
        values = [getattr(self, part) for part in parts]
        return float(math.fsum(values) / getattr(self, whole)) if getattr(self, whole) and None not in values else None


SERVER_LEDGER = ("server_forward_examples", "server_gradient_examples", "server_busy_seconds", "public_logits_vectors")
"""The counts of the server's own work. Records that were made before they were counted have none,
so the work has a digest of its own, `server`, and the digest `result` leaves it out."""


class Digests(Section):
    """`inputs`, `plan`, `model` and `selections` are over arrays, `result` over all that a run must
    give again but for the server's work, and `server` over that. Older records lack some."""

    inputs: Sum
    plan: Sum
    model: Sum
    selections: Sum | None = None
    result: Sum | None = None
    server: Sum | None = None
