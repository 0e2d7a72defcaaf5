"""The form of data that anybody may have written: which parts, of which kinds, how many."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Word = Annotated[str, Field(max_length=1000)]
Text = Annotated[str, Field(max_length=20_000)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
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


class _Participation(_Part):
    least: Number
    mean: Number
    most: Number
    gini: Number | None


class _Row(_Part):
    label: Text
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
    curves: Annotated[dict[Word, _Curve], Field(max_length=20)]
    staleness: Annotated[list[Number], Field(max_length=1000)]
    participation: _Participation | None
    validity: Word
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


class _Suite(_Part):
    name: Word
    hash: Word
    about: Text
    seeds: Count
    trials: Count | None
    runs: Count
    commits: Annotated[list[Word], Field(max_length=10_000)]
    rules: Count


class _Point(_Part):
    name: Word
    axis: Word
    about: Text
    sentence: Text
    scenario: Word
    scenario_hash: Annotated[str, Field(max_length=100)]
    settings: Annotated[list[Text] | dict[Word, Any], Field(max_length=1000)]
    budget_seconds: Number
    resolution: dict[Word, Number | None]


class _Facts(_Part):
    about: Text
    traffic: Text
    gradient_work: Text
    server_memory: Text
    clients_remember: bool
    requires: Annotated[list[Word], Field(max_length=100)]
    sources: Annotated[list[Names], Field(max_length=100)]
    options: Annotated[list[Names], Field(max_length=100)]


class _Option(_Part):
    name: Word
    low: Number
    high: Number
    scale: Literal["log", "linear"]


class _Trial(_Part):
    trial: Count
    options: Annotated[dict[Word, Number], Field(max_length=100)]
    seconds: Number
    misses: Count
    attempts: Count
    unfinished: Count


class _Sensitivity(_Part):
    sought: Annotated[list[_Option], Field(max_length=20)]
    trials: Annotated[list[_Trial], Field(max_length=10_000)]
    chosen: Count


class _Labels(_Part):
    clients: Annotated[list[Count], Field(min_length=1, max_length=10_000)]
    counts: Annotated[list[Annotated[list[Count], Field(min_length=1, max_length=1000)]], Field(min_length=1, max_length=10_000)]
    step_seconds: Annotated[list[Number], Field(min_length=1, max_length=10_000)]


class _Jobs(_Part):
    client: Annotated[list[Count], Field(max_length=10_000)]
    begin: Points
    end: Points
    fate: Annotated[list[Literal["used", "late", "lost", "unused"]], Field(max_length=10_000)]
    staleness: Annotated[list[Count | None], Field(max_length=10_000)]


class _Absences(_Part):
    client: Annotated[list[Count], Field(max_length=10_000)]
    begin: Points
    end: Points


class _Timeline(_Part):
    end_seconds: Number
    clients: Annotated[list[Count], Field(max_length=1000)]
    of_clients: Count
    jobs: _Jobs
    absences: _Absences
    updates: Annotated[list[Number], Field(max_length=1_000_000)]


class _Entrant(_Part):
    label: Text
    selector: Text
    family: Word
    advantages: Annotated[list[Text], Field(max_length=100)]
    requires: Annotated[list[Word], Field(max_length=100)]
    clients_remember: bool | None
    facts: _Facts | None
    sensitivity: Annotated[dict[Word, _Sensitivity], Field(max_length=1000)]


class _Reach(_Part):
    target: Number
    hits: Count
    median: Number | None
    bytes: Number | None


class _Standing(_Part):
    label: Text
    first: bool
    first_alike: bool
    place: Count | None
    mean: Number
    half_width: Number | None
    seconds: Annotated[dict[Word, Number], Field(max_length=10_000)]
    solved: Number
    unfinished: Count
    targets: Annotated[list[_Reach], Field(max_length=100)]


class _Profiles(_Part):
    factors: Points
    shares: Annotated[dict[Word, dict[Text, Points]], Field(max_length=10)]


Kind = Literal["tuned", "published", "given"]
Lines = Annotated[list[Text], Field(max_length=1000)]


class _Document(_Part):
    schema_version: Annotated[Literal[3], Field(alias="schema")]
    name: Slug
    title: Text
    note: Text
    axis: _Axis
    kinds: Annotated[list[Kind], Field(max_length=3)]
    suite: _Suite | None
    definitions: Lines
    sentences: Lines
    points: Annotated[list[_Point], Field(min_length=1, max_length=1000)]
    algorithms: Annotated[list[_Entrant], Field(max_length=1000)]
    boards: dict[Kind, Annotated[dict[Word, Annotated[list[_Standing], Field(max_length=10_000)]], Field(max_length=1000)]]
    profiles: _Profiles
    absent: Annotated[dict[Text, Lines], Field(max_length=1000)]
    labels: Annotated[dict[Word, _Labels], Field(max_length=1000)]
    timelines: Annotated[dict[Word, Annotated[dict[Text, _Timeline], Field(max_length=1000)]], Field(max_length=1000)]
    sections: dict[Kind, Annotated[dict[Word, _Scenario], Field(max_length=1000)]]


class _Case(_Part):
    name: Word
    values: Annotated[list[Number | None], Field(max_length=10_000)]


class _Machine(_Part):
    label: Word
    cpu: Word
    commits: Annotated[list[Word], Field(max_length=10_000)]
    days: Annotated[list[Word], Field(max_length=10_000)]
    cases: Annotated[list[_Case], Field(max_length=1000)]


class _Speed(_Part):
    machines: Annotated[list[_Machine], Field(max_length=100)]


class _Change(_Part):
    date: Word
    text: Text


class _Submission(_Part):
    name: Slug
    title: Text
    authors: Lines
    date: Word
    suite: Word
    validity: Literal["self-reported", "checked", "re-run-identical", "retracted"]
    reason: Text
    document: Slug | None
    rows: Count
    points: Count


class _Site(_Part):
    documents: Annotated[list[Slug], Field(min_length=1, max_length=100)]
    speed: _Speed | None
    changes: Annotated[list[_Change], Field(max_length=10_000)]
    submissions: Annotated[list[_Submission], Field(max_length=10_000)]


FORMS: dict[str, type[BaseModel]] = {"document": _Document, "site": _Site}


def problem(data: Any, form: Literal["document", "site"]) -> str:
    """What is wrong with data of a form, on one line that names the first field; empty if nothing is."""
    try:
        FORMS[form].model_validate(data)
    except ValidationError as errors:
        first = errors.errors(include_url=False, include_context=False)[0]
        got = "" if first["type"] == "missing" else f", got {first['input']!r:.60}"
        return f"{'.'.join(map(str, first['loc'])):.200}: {first['msg']:.200}{got}"
    return ""
