"""The form of a data.json that anybody may have written: which parts, of which kinds, how many."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Word = Annotated[str, Field(max_length=1000)]
Text = Annotated[str, Field(max_length=20_000)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Names = Annotated[dict[Word, Any], Field(max_length=1000)]
Counts = Annotated[dict[Word, Count], Field(max_length=100)]
Points = Annotated[list[Number], Field(max_length=10_000)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Axis(_Part):
    name: Word
    words: Word
    unit: Word
    title: Word


class _Comparison(_Part):
    standing: Word | None
    seeds: Count
    difference: Number | None
    half_width: Number | None
    level: Number | None
    p: Number | None
    p_adjusted: Number | None


class _Estimate(_Part):
    n: Count
    missing: Count
    mean: Number | None
    std: Number | None
    half_width: Number | None


class _Hits(_Part):
    metric: Word
    target: Number
    hits: Count
    total: Count
    median: Number | None
    beyond: Number | None
    restricted_mean: _Estimate
    lower_bound: bool
    comparison: _Comparison
    reached: Annotated[list[Number | None], Field(max_length=10_000)]


class _Curve(_Part):
    band: Word
    at: Points
    mean: Points
    low: Points
    high: Points


class _Limit(_Part):
    selector: Text
    seed: Count
    ended_by: Word


class _Horizon(_Part):
    at: Number | None
    is_shared: bool
    limits: Annotated[list[_Limit], Field(max_length=100_000)]


class _Run(_Part):
    run_id: Word
    seed: Count
    accuracy_at_horizon: Number | None
    warnings: Annotated[list[Text], Field(max_length=100)]
    outcome: Names
    provenance: Names
    digests: Names


class _Row(_Part):
    selector: Text
    algorithm: Names
    papers: Annotated[list[Names], Field(max_length=100)]
    flattered: bool
    seeds: Annotated[list[Count], Field(max_length=10_000)]
    outcomes: Counts
    ended_by: Counts
    left_out: Text
    accuracy: _Comparison
    measures: Annotated[dict[Word, _Estimate], Field(max_length=100)]
    staleness_max: Count | None
    to_target: Annotated[list[_Hits], Field(max_length=100)]
    curve: _Curve
    command: Text | None
    command_needs: Text | None
    runs: Annotated[list[_Run], Field(max_length=10_000)]


class _Target(_Part):
    metric: Word
    value: Number


class _Scenario(_Part):
    name: Word
    full_name: Text
    settings: Annotated[list[Text], Field(max_length=1000)]
    hash: Annotated[str, Field(max_length=100)]
    about: Text | None
    task: Names
    clients: Count | None
    public: Any
    budget: Names
    targets: Annotated[list[_Target], Field(max_length=100)]
    horizon: _Horizon
    rows: Annotated[list[_Row], Field(max_length=10_000)]


class _Document(_Part):
    schema_version: Annotated[Literal[2], Field(alias="schema")]
    title: Text
    note: Text
    axis: _Axis
    scenarios: Annotated[list[_Scenario], Field(max_length=1000)]


def problem(data: Any) -> str:
    """What is wrong with a document, on one line that names the first field; empty if it has the form."""
    try:
        _Document.model_validate(data)
    except ValidationError as errors:
        first = errors.errors(include_url=False, include_context=False)[0]
        got = "" if first["type"] == "missing" else f", got {first['input']!r:.60}"
        return f"{'.'.join(map(str, first['loc'])):.200}: {first['msg']:.200}{got}"
    return ""
