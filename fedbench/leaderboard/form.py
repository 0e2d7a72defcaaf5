"""Checks the form of data that anybody may have written: which parts they have, of which types, and
how many."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from fedbench.leaderboard.home_form import HomeForm
from fedbench.leaderboard.paper_form import PaperForm
from fedbench.leaderboard.section_form import AxisForm, Count, Names, Number, Part, Points, ScenarioForm, Slug, Text, Word

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Numbers = Annotated[list[Number], Field(max_length=100)]
Labels = Annotated[list[Text], Field(max_length=10_000)]
Ratio = Annotated[tuple[Positive, Annotated[float, Field(ge=0, allow_inf_nan=False)], Positive | None], Field(strict=False)]
"""A ratio of costs with the ends of its interval; the upper end is None if it is not known."""


class _Suite(Part):
    name: Word
    hash: Word
    about: Text
    seeds: Count
    trials: Count | None
    runs: Count
    commits: Annotated[list[Word], Field(max_length=10_000)]
    rules: Count


class _Point(Part):
    name: Text
    axis: Word
    about: Text
    sentence: Text
    scenario: Word
    scenario_hash: Annotated[str, Field(max_length=100)]
    settings: Annotated[list[Text] | dict[Word, Any], Field(max_length=1000)]
    clients: Count | None
    budget_seconds: Number
    every_seconds: Number | None
    ratio: Number | None = None
    targets: Numbers


class _Facts(Part):
    about: Text
    traffic: Text
    gradient_work: Text
    server_work: Text = ""
    server_memory: Text
    clients_remember: bool
    requires: Annotated[list[Word], Field(max_length=100)]
    sources: Annotated[list[Names], Field(max_length=100)]
    options: Annotated[list[Names], Field(max_length=100)]


class _Option(Part):
    name: Word
    low: Number
    high: Number
    scale: Literal["log", "linear"]


class _Trial(Part):
    trial: Count
    options: Annotated[dict[Word, Number], Field(max_length=100)]
    seconds: Number
    misses: Count
    attempts: Count
    unfinished: Count


class _Sensitivity(Part):
    sought: Annotated[list[_Option], Field(max_length=20)]
    trials: Annotated[list[_Trial], Field(max_length=10_000)]
    chosen: Count


class _Labels(Part):
    clients: Annotated[list[Count], Field(min_length=1, max_length=10_000)]
    counts: Annotated[list[Annotated[list[Count], Field(min_length=1, max_length=1000)]], Field(min_length=1, max_length=10_000)]
    step_seconds: Annotated[list[Number], Field(min_length=1, max_length=10_000)]


class _Jobs(Part):
    client: Annotated[list[Count], Field(max_length=10_000)]
    begin: Points
    end: Points
    fate: Annotated[list[Literal["used", "late", "lost", "unused"]], Field(max_length=10_000)]
    staleness: Annotated[list[Count | None], Field(max_length=10_000)]


class _Absences(Part):
    client: Annotated[list[Count], Field(max_length=10_000)]
    begin: Points
    end: Points


class _Timeline(Part):
    end_seconds: Number
    clients: Annotated[list[Count], Field(max_length=1000)]
    of_clients: Count
    jobs: _Jobs
    absences: _Absences
    updates: Annotated[list[Number], Field(max_length=1_000_000)]


class _Entrant(Part):
    label: Text
    full_name: Annotated[str, Field(max_length=100)]
    selector: Text
    family: Word
    group: Word | None
    requires: Annotated[list[Word], Field(max_length=100)]
    clients_remember: bool | None
    facts: _Facts | None
    sensitivity: Annotated[dict[Word, _Sensitivity], Field(max_length=1000)]


class _Reach(Part):
    target: Number
    has_verdict: bool
    hits: Count
    cost: Positive
    median: Number | None
    bytes: Number | None


class _Cost(Part):
    cost: Positive | None
    is_bound: bool
    regret: Ratio | None
    is_best: bool


class _Standing(Part):
    label: Text
    group: Word | None
    under_way: Number | None
    cost: Positive
    is_bound: bool
    costs: Annotated[dict[Word, Positive], Field(max_length=10_000)]
    regret: Ratio | None
    is_best: bool
    solved: Number
    unfinished: Count
    targets: Annotated[list[_Reach], Field(max_length=100)]
    axes: Annotated[dict[Word, _Cost], Field(max_length=10)]
    against: Annotated[dict[Text, Ratio | None], Field(max_length=10_000)]
    marks: Annotated[list[Text], Field(max_length=100)]


class _Ranked(Part):
    leader: Text | None
    best: Labels
    resolution: Positive | None
    stability: Number | None


class _Group(Part):
    kind: Word
    words: Word
    at_work: Count
    public_data: bool
    rows: Labels
    targets: Numbers
    axes: Annotated[dict[Word, _Ranked], Field(max_length=10)]
    leaders: Annotated[dict[Word, Text | None], Field(max_length=10)]


class _Average(Part):
    label: Text
    ratio: Ratio
    worst: Positive
    worst_at: Word
    points: Count
    is_bound: bool


class _Profiles(Part):
    factors: Points
    shares: Annotated[dict[Word, dict[Text, Points]], Field(max_length=10)]


Kind = Literal["tuned", "default", "given"]
Lines = Annotated[list[Text], Field(max_length=1000)]


Averages = Annotated[dict[Text, Annotated[list[_Average], Field(max_length=10_000)]], Field(max_length=1000)]


class _Document(Part):
    schema_version: Annotated[Literal[5], Field(alias="schema")]
    name: Slug
    title: Text
    note: Text
    axis: AxisForm
    kinds: Annotated[list[Kind], Field(max_length=3)]
    suite: _Suite | None
    definitions: Lines
    sentences: Lines
    points: Annotated[list[_Point], Field(min_length=1, max_length=1000)]
    algorithms: Annotated[list[_Entrant], Field(max_length=1000)]
    boards: dict[Kind, Annotated[dict[Text, Annotated[list[_Standing], Field(max_length=10_000)]], Field(max_length=1000)]]
    groups: dict[Kind, Annotated[dict[Text, Annotated[list[_Group], Field(max_length=1000)]], Field(max_length=1000)]]
    averages: dict[Kind, Averages] = Field(default={})
    profiles: _Profiles
    absent: Annotated[dict[Text, Lines], Field(max_length=1000)]
    labels: Annotated[dict[Word, _Labels], Field(max_length=1000)]
    timelines: Annotated[dict[Word, Annotated[dict[Text, _Timeline], Field(max_length=1000)]], Field(max_length=1000)]
    sections: dict[Kind, Annotated[dict[Text, ScenarioForm], Field(max_length=1000)]]


class _Case(Part):
    name: Word
    values: Annotated[list[Number | None], Field(max_length=10_000)]


class _Machine(Part):
    label: Word
    cpu: Word
    commits: Annotated[list[Word], Field(max_length=10_000)]
    days: Annotated[list[Word], Field(max_length=10_000)]
    cases: Annotated[list[_Case], Field(max_length=1000)]


class _Rivals(Part):
    about: Text
    head: Lines
    rows: Annotated[list[Lines], Field(max_length=1000)]


class _Speed(Part):
    machines: Annotated[list[_Machine], Field(max_length=100)]
    rivals: _Rivals | None = None


class _Change(Part):
    date: Word
    text: Text


class _Submission(Part):
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


_Path = Annotated[str, Field(pattern=r"^[^/.\\][^/\\]*(/[^/.\\][^/\\]*)*$", max_length=500)]
"""The path of a file in a folder. None of its parts begins with a dot, so it stays in the
folder."""
_Sum = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Site(Part):
    documents: Annotated[list[Slug], Field(min_length=1, max_length=100)]
    speed: _Speed | None
    changes: Annotated[list[_Change], Field(max_length=10_000)]
    submissions: Annotated[list[_Submission], Field(max_length=10_000)]
    papers: Annotated[list[Slug], Field(max_length=100)]
    home: HomeForm | None = None
    docs: dict[_Path, _Sum] = Field(default={}, max_length=10_000)


class _Files(RootModel[Annotated[list[Word], Field(max_length=1_000_000)]]):
    model_config = ConfigDict(strict=True)


Form = Literal["document", "site", "paper", "home", "files"]
FORMS: dict[Form, type[BaseModel]] = {
    "document": _Document, "site": _Site, "paper": PaperForm, "home": HomeForm, "files": _Files,
}  # fmt: skip


def problem(data: Any, form: Form) -> str:
    """Returns what is wrong with data that should have a form, on one line that names the first
    field; empty if nothing is."""
    try:
        FORMS[form].model_validate(data)
    except ValidationError as errors:
        first = errors.errors(include_url=False, include_context=False)[0]
        got = "" if first["type"] == "missing" else f", got {first['input']!r:.60}"
        return f"{'.'.join(map(str, first['loc'])):.200}: {first['msg']:.200}{got}"
    return ""
