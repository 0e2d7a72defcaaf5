"""Makes a document: a suite, or the records of a store, as plain data.

It is written as `data/NAME.json`, and its pages are made from it alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedbench.analysis import board_json
from fedbench.analysis.axes import SECONDS, Axis, find
from fedbench.analysis.ranking import in_words
from fedbench.analysis.summary import summarize
from fedbench.descriptions import describe_algorithm
from fedbench.leaderboard.places import free, slug
from fedbench.leaderboard.sections import axis_of, built_in, section

if TYPE_CHECKING:
    from fedbench.analysis.board import Board
    from fedbench.analysis.summary import ScenarioSummary
    from fedbench.results.record import Record

SCHEMA = 5
GIVEN = "given"
TITLES = {"tuned": "Tuned options", "default": "Default options", GIVEN: "Options as given"}
"""The titles of the kinds of rows."""

Document = dict[str, Any]
Runs = Mapping[str, Mapping[str, Mapping[str, "Sequence[Record]"]]]
"""The runs of every row, by its kind, point and label."""


def of_suite(
    overview: Mapping[str, Any], runs: Runs, pictures: Mapping[str, Any] | None = None, axis: str | Axis = SECONDS
) -> Document:
    """Returns the document of a suite.

    It is {schema, name, title, note, axis, suite, kinds, definitions, sentences, points,
    algorithms, boards, groups, profiles, absent, labels, timelines, sections}. `boards` has the
    rows and `groups` the systems by kind of options and point, see `fedbench.analysis.board_json`.
    `sections` has the scenarios likewise. `timelines` has those of the first kind.

    Args:
        overview: the suite, its points, algorithms and boards, as
            `fedbench.suites.findings.document` gives them.
        runs: those of the rows on the boards.
        pictures: label maps, timelines and trials, as `fedbench.suites.illustrations` gives them.
        axis: the axis on which accuracies are compared.

    Raises:
        RecordError: the runs of a row are of several scenarios.
    """
    where, suite, shown = find(axis), overview["suite"], pictures or _NO_PICTURES
    labels = {one["selector"]: one["label"] for one in overview["algorithms"]}
    kinds = [kind for kind in TITLES if overview["boards"].get(kind)]
    first = {label: one[0] for by_point in runs.values() for rows in by_point.values() for label, one in rows.items()}
    facts = {label: _facts(run) for label, run in first.items()}
    return {
        "schema": SCHEMA,
        "name": suite["name"],
        "title": f"Suite {suite['name']}",
        "note": "",
        "axis": axis_of(where),
        "kinds": kinds,
        **{name: value for name, value in overview.items() if name not in ("schema", "algorithms")},
        "algorithms": [
            {**facts.get(one["label"], _NOTHING), **one, "sensitivity": shown["sensitivity"].get(one["selector"], {})}
            for one in overview["algorithms"]
        ],
        "labels": shown["labels"],
        "timelines": {
            point: {labels[selector]: _drawn(one) for selector, one in of_point.items()}
            for point, of_point in shown["timelines"].items()
        },
        "sections": {kind: {point: _section_of(rows, where) for point, rows in runs[kind].items()} for kind in kinds},
    }


def of_records(
    records: Iterable[Record],
    title: str,
    note: str = "",
    axis: str | Axis = SECONDS,
    *,
    name: str | None = None,
    points: Mapping[str, str] | None = None,
    validity: str | None = None,
) -> Document:
    """Returns the document of any records. It has a point for every scenario, and a row for every
    algorithm with its options. A row that has other seeds than most rows of its system is shown and
    not compared.

    Args:
        records: those of any scenarios.
        title: the title of the document.
        note: a sentence about the whole document.
        axis: the axis on which runs are compared.
        name: the name of the document, which is also that of its folder. By default it is made from
            the title.
        points: names of scenarios by their hashes; by default their own names.
        validity: the validity of all rows, if it is known from elsewhere than their records.
    """
    where = find(axis)
    summaries = dict(_named(summarize(records, where), points or {}))
    labels = {row.selector: row.selector for summary in summaries.values() for row in summary.rows}
    boards = {point: found for point, summary in summaries.items() if (found := summary.board) is not None}
    return {
        "schema": SCHEMA,
        "name": name or free(slug(title)),
        "title": title,
        "note": note,
        "axis": axis_of(where),
        "kinds": [GIVEN],
        "suite": None,
        "definitions": [],
        "sentences": [],
        "points": [_point(point, summary, boards.get(point)) for point, summary in summaries.items()],
        "algorithms": _algorithms(summaries.values(), boards.values()),
        "boards": {GIVEN: {point: board_json.rows(found) for point, found in boards.items()}},
        "groups": {GIVEN: {point: board_json.groups(found) for point, found in boards.items()}},
        "profiles": {"factors": [], "shares": {GIVEN: {}}},
        "absent": {},
        "labels": {},
        "timelines": {},
        "sections": {GIVEN: {point: section(summary, labels, validity) for point, summary in summaries.items()}},
    }


def rows_at(document: Mapping[str, Any], kind: str, point: str) -> Sequence[Mapping[str, Any]]:
    """Returns the rows of a kind at a point of a document; none if the kind lacks the point."""
    rows: Sequence[Mapping[str, Any]] = document["sections"][kind].get(point, {}).get("rows", ())
    return rows


def board_at(document: Mapping[str, Any], kind: str, point: str) -> dict[str, Mapping[str, Any]]:
    """Returns the rows of a board of a document by their labels, in order; none if there is no
    board."""
    return {row["label"]: row for row in document["boards"][kind].get(point, ())}


def groups_at(document: Mapping[str, Any], kind: str, point: str) -> Sequence[Mapping[str, Any]]:
    """Returns the systems of a board of a document, in order; none if there is no board."""
    groups: Sequence[Mapping[str, Any]] = document["groups"][kind].get(point, ())
    return groups


def systems(document: Mapping[str, Any], kind: str) -> list[str]:
    """Returns the kinds of systems on the boards of a document. Those with public data come last,
    and before them those in which it is not known how many clients work, or all do."""
    found: dict[str, tuple[bool, bool, bool, int]] = {}
    for of_point in document["groups"][kind].values():
        for one in of_point:
            found.setdefault(
                one["kind"], (one["public_data"], not one["at_work"], one["kind"].startswith("all "), one["at_work"])
            )
    return sorted(found, key=lambda system: found[system])


def _drawn(timeline: Mapping[str, Any]) -> Document:
    """Returns what the picture shows of a timeline."""
    return {**timeline, "jobs": {name: timeline["jobs"][name] for name in ("client", "begin", "end", "fate", "staleness")}}


def _section_of(rows: Mapping[str, Sequence[Record]], axis: Axis) -> Document:
    (summary,) = summarize([run for runs in rows.values() for run in runs], axis)
    return section(summary, {runs[0].selector: label for label, runs in rows.items()})


def _named(summaries: Sequence[ScenarioSummary], points: Mapping[str, str]) -> Iterable[tuple[str, ScenarioSummary]]:
    """Yields every scenario with a name that no other one has."""
    names = [points.get(one.scenario_hash, one.full_name) for one in summaries]
    for name, one in zip(names, summaries, strict=True):
        yield name if names.count(name) == 1 else f"{name} ({one.scenario_hash[:12]})", one


def _point(name: str, summary: ScenarioSummary, found: Board | None) -> Document:
    scenario = summary.scenario
    return {
        "name": name,
        "axis": "",
        "about": scenario.get("about") or "",
        "sentence": _told(found),
        "scenario": summary.name,
        "scenario_hash": summary.scenario_hash,
        "settings": list(summary.settings),
        "clients": scenario.get("clients"),
        "budget_seconds": float(scenario["budget"]["seconds"]),
        **_spacing(scenario["evaluation"]),
        "targets": [float(one["value"]) for one in scenario.get("targets") or []],
    }


def _spacing(evaluation: Mapping[str, Any]) -> dict[str, float | None]:
    """Returns the distance of two points of evaluation, or the quotient of their times."""
    return {key: None if evaluation.get(key) is None else float(evaluation[key]) for key in ("every_seconds", "ratio")}


def _told(found: Board | None) -> str:
    """Returns in Markdown which rows cost least, system by system; nothing without a board."""
    return "" if found is None else " ".join(in_words(found.ranking(group), _code) for group in found.groups)


def _code(text: str) -> str:
    """Returns a text that anybody may have written as code in Markdown. Its fence is longer than
    any run of backticks in the text."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _algorithms(summaries: Iterable[ScenarioSummary], boards: Iterable[Board]) -> list[Document]:
    rows = {row.selector: row for summary in summaries for row in summary.rows}
    groups = {one.row: one.group.kind for board in boards for one in board.ranked}
    found = []
    for selector, row in sorted(rows.items()):
        facts = _facts(row.runs[0])
        family = "reference" if row.is_reference else facts["family"]
        own: Document = {"label": selector, "selector": selector, "group": groups.get(selector), "sensitivity": {}}
        found.append({**own, **facts, "family": family})
    return found


_NO_PICTURES: Document = {"labels": {}, "timelines": {}, "sensitivity": {}}
_NOTHING: Document = {"full_name": "", "facts": None, "requires": [], "clients_remember": None}


def _facts(run: Record) -> Document:
    """Returns what is known of a run's algorithm. If it is not built in, this is what the record
    says."""
    algorithm = run.meta["spec"]["algorithm"]
    cls = built_in(algorithm)
    if cls is None:
        return {**_NOTHING, "family": "", "requires": list(algorithm.get("requires", []))}
    facts = describe_algorithm(cls)
    family = "synchronous" if facts["dispatch"] == "Rounds" else "asynchronous"
    told = {name: facts[name] for name in ("full_name", "requires", "clients_remember")}
    return {"facts": facts, "family": family, **told}
