"""The document of a suite without its sections: its points and algorithms, its boards, and what is
said of them."""

from __future__ import annotations

import numpy as np

from fedbench import rules
from fedbench.analysis.axes import SECONDS
from fedbench.analysis.board import times
from fedbench.analysis.profiles import Reference, profile
from fedbench.documents.board import groups, standings
from fedbench.documents.map import Map
from fedbench.documents.parts import SCHEMA, Kind
from fedbench.documents.suite import TITLES, Average, Document, Entrant, Point, Profiles
from fedbench.documents.suite import Suite as About
from fedbench.refusals import refused_in
from fedbench.suites.findings import numbers
from fedbench.suites.findings.results import Results
from fedbench.suites.findings.sentences import DEFINITIONS, of_point, short_lines

FACTORS = 2.0 ** np.arange(-2, 5.25, 0.25)
"""Factors of reference times, from a quarter to 32."""


@refused_in("suite: more or other than a site shows")
def document(results: Results, reference: Reference | None, map_: Map | None = None) -> Document:
    """Returns the suite, its points, its algorithms and, by kind of options and by point, the rows
    and groups of every board. `map_` is what it says over the factors of its design. Raises
    UsageError if a part is too large for a document."""
    suite, boards = results.suite, results.boards
    return Document(
        schema=SCHEMA,
        name=suite.name,
        title=f"Suite {suite.name}",
        axis=SECONDS,
        kinds=tuple(kind for kind in TITLES if boards.get(kind)),
        suite=About(
            name=suite.name,
            hash=suite.content_hash(),
            about=suite.about,
            seeds=suite.seeds.count,
            trials=suite.tuning.trials + 1 if suite.tuning is not None and results.tuned else None,
            runs=len(results.runs),
            commits=tuple(results.commits),
            rules=rules.VERSION,
        ),
        definitions=tuple(DEFINITIONS),
        sentences=tuple(short_lines(results)),
        points=tuple(_point(results, point.name) for point in suite.points),
        algorithms=tuple(_algorithm(results, selector, label) for selector, label in results.labels.items()),
        boards={
            kind: {point: standings(found, _marks(results, kind, point)) for point, found in of_kind.items()}
            for kind, of_kind in boards.items()
        },
        groups={kind: {point: groups(found) for point, found in of_kind.items()} for kind, of_kind in boards.items()},
        averages={kind: _averages(results, kind) for kind, of_kind in boards.items() if of_kind},
        profiles=_profiles(results, reference),
        absent={reason: tuple(rows) for reason, rows in results.absent.items()},
        map=map_,
    )


def _marks(results: Results, kind: Kind, point: str) -> dict[str, tuple[str, ...]]:
    return {label: tuple(one.marks) for (at, label), one in results.luck.items() if at == point and kind == "tuned"}


def _averages(results: Results, kind: Kind) -> dict[str, tuple[Average, ...]]:
    """Returns what it costs to always use one row, by kind of group. A kind is left out if a point
    has too few seeds for an interval."""
    found = {system: numbers.rankings(results, system, tuned=kind == "tuned") for system in results.systems}
    known = {
        system: several for system, several in found.items() if all(one.found and one.found.is_known for one in several.values())
    }
    averages = {system: tuple(numbers.always(several)) for system, several in known.items()}
    return {system: rows for system, rows in averages.items() if rows}


def _profiles(results: Results, reference: Reference | None) -> Profiles:
    if reference is None or not reference.seconds:
        return Profiles(factors=(), shares={kind: {} for kind in results.boards})
    shares: dict[Kind, dict[str, tuple[float, ...]]] = {}
    for kind, boards in results.boards.items():
        found = {label: times(boards, label) for label in results.labels.values()}
        known = {label: profile(own, reference, FACTORS).round(4) for label, own in found.items() if own.seconds}
        shares[kind] = {label: tuple(own.tolist()) for label, own in known.items()}
    return Profiles(factors=tuple(FACTORS.tolist()), shares=shares)


def _point(results: Results, name: str) -> Point:
    point = results.suite.point(name)
    scenario = results.suite.scenario_at(point)
    return Point(
        name=name,
        axis=point.axis,
        about=point.about,
        sentence=of_point(results, name),
        scenario=scenario.name,
        scenario_hash=results.hashes[name],
        settings=tuple(f"{key}: {value}" for key, value in point.set.items()),
        clients=scenario.clients,
        budget_seconds=scenario.budget.seconds,
        **scenario.evaluation.spacing,
        targets=tuple(target.value for target in scenario.targets),
    )


def _algorithm(results: Results, selector: str, label: str) -> Entrant:
    """Returns an algorithm with its system at the first point, with default options."""
    family = results.families[label]
    group = results.group(results.suite.points[0].name, selector, tuned=False)
    return Entrant(label=label, selector=selector, family=family, group=None if family == "reference" else group.kind)
