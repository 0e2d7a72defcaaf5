"""The form of a scenario with its rows, for data that anybody may have written."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Word = Annotated[str, Field(max_length=1000)]
Text = Annotated[str, Field(max_length=20_000)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
Names = Annotated[dict[Word, Any], Field(max_length=1000)]
Counts = Annotated[dict[Word, Count], Field(max_length=100)]
Points = Annotated[list[Number], Field(max_length=10_000)]


class Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class AxisForm(Part):
    name: Word
    words: Word
    unit: Word
    title: Word


class _Comparison(Part):
    standing: Word | None
    seeds: Count
    difference: Number | None
    half_width: Number | None
    level: Number | None
    p: Number | None
    p_adjusted: Number | None


class _Estimate(Part):
    n: Count
    missing: Count
    mean: Number | None
    std: Number | None
    half_width: Number | None


class _Hits(Part):
    metric: Word
    target: Number
    hits: Count
    total: Count
    median: Number | None
    beyond: Number | None
    restricted_mean: _Estimate
    lower_bound: bool
    reached: Annotated[list[Number | None], Field(max_length=10_000)]


class _Curve(Part):
    band: Word
    at: Points
    mean: Points
    half: Points = []
    low: Points = []
    high: Points = []


class _Limit(Part):
    selector: Text
    seed: Count
    ended_by: Word


class _Horizon(Part):
    at: Number | None
    is_shared: bool
    limits: Annotated[list[_Limit], Field(max_length=100_000)]


class _Run(Part):
    run_id: Word
    seed: Count
    accuracy_at_horizon: Number | None
    warnings: Annotated[list[Text], Field(max_length=100)]
    outcome: Names
    provenance: Names
    digests: Names


class Participation(Part):
    least: Number
    mean: Number
    most: Number
    gini: Number | None


class _Row(Part):
    label: Text
    selector: Text
    algorithm: Names
    flattered: bool
    seeds: Annotated[list[Count], Field(max_length=10_000)]
    outcomes: Counts
    ended_by: Counts
    left_out: Text
    off_board: Text
    accuracy: _Comparison
    measures: Annotated[dict[Word, _Estimate], Field(max_length=100)]
    staleness_max: Count | None
    to_target: Annotated[list[_Hits], Field(max_length=100)]
    curves: Annotated[dict[Word, _Curve], Field(max_length=20)]
    staleness: Annotated[list[Number], Field(max_length=1000)]
    participation: Participation | None
    validity: Word
    command: Text | None
    command_needs: Text | None
    provenance: Names
    runs: Annotated[list[_Run], Field(max_length=10_000)]


class _Target(Part):
    metric: Word
    value: Number


class ScenarioForm(Part):
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
