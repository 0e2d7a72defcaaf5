"""Makes the document of a suite, or of the records of a store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fedbench.analysis.axes import SECONDS, Axis, find
from fedbench.analysis.metrics import about
from fedbench.analysis.ranking import in_words
from fedbench.analysis.summary import summarize
from fedbench.documents.board import groups, standings
from fedbench.documents.parts import SCHEMA, Kind
from fedbench.documents.pictures import Pictures
from fedbench.documents.section import Section
from fedbench.documents.suite import Document, Entrant, Facts, Point, Profiles
from fedbench.errors import UsageError
from fedbench.leaderboard.places import free, slug
from fedbench.leaderboard.sections import built_in, section
from fedbench.refusals import refused_in

if TYPE_CHECKING:
    from fedbench.analysis.board import Board
    from fedbench.analysis.summary import ScenarioSummary
    from fedbench.results.record import Record
from fedbench.scenarios.schema import ACCURACY

GIVEN: Kind = "given"
Runs = Mapping[Kind, Mapping[str, Mapping[str, "Sequence[Record]"]]]
"""The runs of every row, by its kind, point and label."""


@refused_in("leaderboard: more or other than a site shows")
def of_suite(overview: Document, runs: Runs, pictures: Pictures | None = None) -> Document:
    """Returns the whole document of a suite.

    Args:
        overview: the suite, its points, algorithms and boards, as
            `fedbench.suites.findings.document` gives them.
        runs: those of the rows on the boards.
        pictures: label maps, timelines and trials.

    Raises:
        RecordError: the runs of a row are of several scenarios.
        UsageError: a part is too large for a document.
    """
    shown = pictures or Pictures(schema=1, suite="")
    labels = {one.selector: one.label for one in overview.algorithms}
    first = {label: one[0] for by_point in runs.values() for rows in by_point.values() for label, one in rows.items()}
    algorithms = []
    for one in overview.algorithms:
        facts, requires = _known(first[one.label]) if one.label in first else (None, ())
        tried = shown.sensitivity.get(one.selector, {})
        algorithms.append(one.model_copy(update={"facts": facts, "requires": requires, "sensitivity": tried}))
    timelines = {
        point: {labels[selector]: one for selector, one in of_point.items()} for point, of_point in shown.timelines.items()
    }
    sections = {kind: {point: _section_of(rows, overview.axis) for point, rows in runs[kind].items()} for kind in overview.kinds}
    found = {"algorithms": tuple(algorithms), "labels": shown.labels, "timelines": timelines, "sections": sections}
    return overview.model_copy(update=found)


@refused_in("leaderboard: more or other than a site shows")
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

    Raises:
        UsageError: there are no records, the axis is unknown, or a part is too large for a
            document.
        RecordError: a record lacks the axis.
    """
    where = find(axis)
    summaries = dict(_named(summarize(about(records, ACCURACY), where), points or {}))  # a site shows no other targets
    if not summaries:
        raise UsageError("leaderboard: there are no finished records to show; `fedbench run` writes some")
    labels = {row.selector: row.selector for summary in summaries.values() for row in summary.rows}
    boards = {point: found for point, summary in summaries.items() if (found := summary.board) is not None}
    return Document(
        schema=SCHEMA,
        name=name or free(slug(title)),
        title=title,
        note=note,
        axis=where,
        kinds=(GIVEN,),
        points=tuple(_point(point, summary, boards.get(point)) for point, summary in summaries.items()),
        algorithms=tuple(_algorithms(summaries.values(), boards.values())),
        boards={GIVEN: {point: standings(found) for point, found in boards.items()}},
        groups={GIVEN: {point: groups(found) for point, found in boards.items()}},
        profiles=Profiles(factors=(), shares={GIVEN: {}}),
        sections={GIVEN: {point: section(summary, labels, validity) for point, summary in summaries.items()}},
    )


def _section_of(rows: Mapping[str, Sequence[Record]], axis: Axis) -> Section:
    (summary,) = summarize([run for runs in rows.values() for run in runs], axis)
    return section(summary, {runs[0].selector: label for label, runs in rows.items()})


def _named(summaries: Sequence[ScenarioSummary], points: Mapping[str, str]) -> Iterable[tuple[str, ScenarioSummary]]:
    """Yields every scenario with a name that no other one has."""
    names = [points.get(one.scenario_hash, one.full_name) for one in summaries]
    for name, one in zip(names, summaries, strict=True):
        yield name if names.count(name) == 1 else f"{name} ({one.scenario_hash[:12]})", one


def _point(name: str, summary: ScenarioSummary, found: Board | None) -> Point:
    scenario = summary.scenario
    return Point(
        name=name,
        axis="",
        about=scenario.about,
        sentence=_told(found),
        scenario=summary.name,
        scenario_hash=summary.scenario_hash,
        settings=summary.settings,
        clients=scenario.clients,
        budget_seconds=scenario.budget.seconds,
        **scenario.evaluation.spacing,
        targets=tuple(one.value for one in scenario.targets),
    )


def _told(found: Board | None) -> str:
    """Returns in Markdown which rows cost least, system by system; nothing without a board."""
    return "" if found is None else " ".join(in_words(found.ranking(group), _code) for group in found.groups)


def _code(text: str) -> str:
    """Returns a text that anybody may have written as code in Markdown. Its fence is longer than
    any run of backticks in the text."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _algorithms(summaries: Iterable[ScenarioSummary], boards: Iterable[Board]) -> Iterator[Entrant]:
    rows = {row.selector: row for summary in summaries for row in summary.rows}
    groups = {one.row: one.group.kind for board in boards for one in board.ranked}
    for selector, row in sorted(rows.items()):
        facts, requires = _known(row.runs[0])
        known = "" if facts is None else "synchronous" if facts.dispatch == "Rounds" else "asynchronous"
        family = "reference" if row.is_reference else known
        group = groups.get(selector)
        yield Entrant(label=selector, selector=selector, family=family, group=group, facts=facts, requires=requires)


def _known(run: Record) -> tuple[Facts | None, tuple[str, ...]]:
    """Returns what is known of a run's algorithm, None if it is not built in, and what it needs by
    its record."""
    algorithm = run.spec.algorithm
    cls = built_in(algorithm)
    return None if cls is None else Facts.of_class(cls), algorithm.requires
