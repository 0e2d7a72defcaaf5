"""The document of a suite: its boards as plain data. The site's overview is made from this document
alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedbench import rules
from fedbench.analysis import board_json
from fedbench.analysis.board import times
from fedbench.analysis.profiles import Reference, profile
from fedbench.suites.findings import numbers, orders
from fedbench.suites.findings.results import Results
from fedbench.suites.findings.sentences import DEFINITIONS, of_point, short_lines

SCHEMA = 2
FACTORS = 2.0 ** np.arange(-2, 5.25, 0.25)
"""Factors of reference times, from a quarter to 32."""

Document = dict[str, Any]


def document(results: Results, reference: Reference | None, others: Sequence[Results] = ()) -> Document:
    """Returns the suite, its points, its algorithms and, by kind of options and by point, the rows
    and groups of every board. There are only JSON values, and no NaN. Whether the order of the
    suite is that of `others` is said first.

    Rows are those of `analysis.board_json.rows`, groups those of `analysis.board_json.groups`.
    `profiles` has, for factors of the frozen reference times, the share of targets and seeds that a
    row reaches within them. `averages` has, by kind of options and of group, what it costs to
    always use one row: rows {label, ratio, worst, worst_at, points, is_bound}, see
    `numbers.Always`.
    """
    suite = results.suite
    return {
        "schema": SCHEMA,
        "suite": {
            "name": suite.name,
            "hash": suite.content_hash(),
            "about": suite.about,
            "seeds": suite.seeds.count,
            "trials": suite.tuning.trials + 1 if suite.tuning is not None and results.tuned else None,
            "runs": len(results.runs),
            "commits": results.commits,
            "rules": rules.VERSION,
        },
        "definitions": list(DEFINITIONS),
        "sentences": [*(told for other in others if (told := orders.told(results, other))), *short_lines(results)],
        "points": [_point(results, point.name) for point in suite.points],
        "algorithms": [_algorithm(results, selector, label) for selector, label in results.labels.items()],
        "boards": {
            kind: {point: board_json.rows(found, _marks(results, kind, point)) for point, found in boards.items()}
            for kind, boards in results.boards.items()
        },
        "groups": {
            kind: {point: board_json.groups(found) for point, found in boards.items()} for kind, boards in results.boards.items()
        },
        "averages": {kind: _averages(results, tuned=kind == "tuned") for kind, boards in results.boards.items() if boards},
        "profiles": _profiles(results, reference),
        "absent": results.absent,
    }


def _marks(results: Results, kind: str, point: str) -> dict[str, list[str]]:
    return {label: one.marks for (at, label), one in results.luck.items() if at == point} if kind == "tuned" else {}


def _averages(results: Results, *, tuned: bool) -> Document:
    """Returns what it costs to always use one row, by kind of group. A kind is left out if a point
    has too few seeds for an interval."""
    found = {kind: numbers.rankings(results, kind, tuned=tuned) for kind in results.systems}
    known = {
        kind: several for kind, several in found.items() if all(one.found and one.found.is_known for one in several.values())
    }
    averages = {kind: [_average(one) for one in numbers.always(several)] for kind, several in known.items()}
    return {kind: rows for kind, rows in averages.items() if rows}


def _average(one: numbers.Always) -> Document:
    return {
        "label": one.row,
        "ratio": list(one.ratio),
        "worst": one.worst,
        "worst_at": one.worst_at,
        "points": one.points,
        "is_bound": one.is_bound,
    }


def _profiles(results: Results, reference: Reference | None) -> Document:
    if reference is None or not reference.seconds:
        return {"factors": [], "shares": {kind: {} for kind in results.boards}}
    shares = {}
    for kind, boards in results.boards.items():
        found = {label: times(boards, label) for label in results.labels.values()}
        shares[kind] = {label: profile(own, reference, FACTORS).round(4).tolist() for label, own in found.items() if own.seconds}
    return {"factors": FACTORS.tolist(), "shares": shares}


def _point(results: Results, name: str) -> Document:
    point = results.suite.point(name)
    scenario = results.suite.scenario_at(point)
    return {
        "name": name,
        "axis": point.axis,
        "about": point.about,
        "sentence": of_point(results, name),
        "scenario": scenario.name,
        "scenario_hash": results.hashes[name],
        "settings": point.set,
        "clients": scenario.clients,
        "budget_seconds": float(scenario.budget.seconds),
        **scenario.evaluation.spacing,
        "targets": [float(target.value) for target in scenario.targets],
    }


def _algorithm(results: Results, selector: str, label: str) -> Document:
    """Returns an algorithm with its system at the first point, with default options."""
    family = results.families[label]
    group = results.group(results.suite.points[0].name, selector, tuned=False)
    return {
        "label": label,
        "selector": selector,
        "family": family,
        "group": None if family == "reference" else group.kind,
    }
