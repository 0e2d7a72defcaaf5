"""The form of a record.json that anybody may have written: the sections that it must have, the
kinds of their values, and their largest sizes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fedbench.errors import RecordError

Word = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=10_000)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=100)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
Number = Annotated[float, Field(allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _File(_Part):
    kind: Literal["file"]
    class_: Annotated[str, Field(alias="class", pattern=r"^\w+$", max_length=200)]
    file: Annotated[str, Field(pattern=r"^[^/\\]+\.py$", max_length=255)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Elsewhere(_Part):
    kind: Literal["entry point", "object"]
    class_: Annotated[str, Field(alias="class", pattern=r"^\w+$", max_length=200)]
    package: Word = ""
    version: Word = ""


class _Algorithm(_Part):
    name: Name
    options: Annotated[dict[Word, Any], Field(max_length=100)]
    origin: Annotated[_File | _Elsewhere, Field(discriminator="kind", default_factory=_Elsewhere.model_construct)]
    requires: Annotated[list[Word], Field(max_length=100)] = []
    reference: bool = False


class _Spec(_Part):
    task: dict[Word, Any]
    scenario: dict[Word, Any]
    scenario_hash: Hash
    algorithm: _Algorithm
    selector: Text
    overrides: Annotated[list[Text], Field(max_length=1000)] | None = None
    seed: Count


class _Provenance(_Part):
    version: Word
    commit: Word | None
    dirty: bool | None
    trainer: Word
    instruction_set: Word
    libraries: Annotated[dict[Word, Word], Field(max_length=100)]
    wall_seconds: Amount | None = None
    server_seconds_per_update: Amount | None = None
    data_warnings: Annotated[list[Text], Field(max_length=100)] = []


class _Outcome(_Part):
    state: Literal["finished", "diverged", "stalled"]
    ended_by: Word
    message: Text


class _Final(_Part):
    version: Count
    seconds: Amount
    evaluated_on: Word
    test_accuracy: Fraction | None
    test_loss: Number | None
    train_loss: Number | None
    client_accuracy_mean: Fraction | None
    client_accuracy_worst_decile: Fraction | None


class _Hit(_Part):
    metric: Literal["test_accuracy", "test_loss", "train_loss"]
    value: Number
    seconds: Amount | None
    censored_at: Amount


class _Ledger(_Part):
    __pydantic_extra__: dict[str, Number | Annotated[list[Count], Field(max_length=1000)]]
    end_seconds: Amount
    updates: Count
    trained_steps: Count
    gradient_evaluations: Count
    server_forward_examples: Count = 0
    server_gradient_examples: Count = 0
    server_busy_seconds: Amount = 0
    public_logits_vectors: Amount = 0
    bytes_up: Count
    bytes_down: Count
    staleness_max: Count


class _Record(_Part):
    spec: _Spec
    provenance: _Provenance
    outcome: _Outcome
    warnings: Annotated[list[Text], Field(max_length=100)] = []
    final: _Final
    time_to_target: Annotated[list[_Hit], Field(max_length=100)]
    ledger: _Ledger
    digests: Annotated[dict[Word, Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]], Field(max_length=20)]


def check_form(meta: dict[str, Any], where: str) -> None:
    """Raises RecordError that names the first field which is missing, of another kind or too
    large."""
    try:
        _Record.model_validate(meta)
    except ValidationError as errors:
        first = errors.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"]))
        got = "" if first["type"] == "missing" else f", got {first['input']!r:.60}"
        raise RecordError(f"{where}: {field:.200}: {first['msg']:.200}{got}; it is not what a run writes") from None
