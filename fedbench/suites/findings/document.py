"""The document of a suite: its boards as plain data. The site's overview is made from this document
alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedbench import rules
from fedbench.analysis import board_json
from fedbench.analysis.board import Board, times
from fedbench.analysis.profiles import Reference, profile
from fedbench.suites.findings.numbers import ratio
from fedbench.suites.findings.results import Results
from fedbench.suites.findings.sentences import DEFINITIONS, of_point, short_lines

SCHEMA = 1
FACTORS = 2.0 ** np.arange(-2, 5.25, 0.25)
"""Factors of reference times, from a quarter to 32."""

Document = dict[str, Any]


def document(results: Results, reference: Reference | None) -> Document:
    """Returns the suite, its points, its algorithms and, by kind of options and by point, the rows
    of every board. There are only JSON values, and no NaN.

    Rows are those of `analysis.board_json`; their `first_alike` is among the tuned rows without an
    advantage. `profiles` has, for factors of the frozen reference times, the share of targets and
    seeds that a row reaches within them.
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
        "sentences": short_lines(results),
        "points": [_point(results, point.name) for point in suite.points],
        "algorithms": [_algorithm(results, selector, label) for selector, label in results.labels.items()],
        "boards": {
            "tuned": _boards(results.tuned, results.like_for_like, suite.points[0].name),
            "published": _boards(results.published, {}, suite.points[0].name),
        },
        "profiles": _profiles(results, reference),
        "absent": results.absent,
    }


def _boards(boards: Mapping[str, Board], alike: Mapping[str, Board], base: str) -> Document:
    """Returns the rows of boards by point. `over_base` of a row is the 95 % interval of its time
    over its own time at the point `base`, with paired seeds, None where that is not known."""
    return {
        point: [
            {**row, "over_base": _over_base(boards, point, base, row["label"])}
            for row in board_json.rows(found, alike.get(point))
        ]
        for point, found in boards.items()
    }


def _over_base(boards: Mapping[str, Board], point: str, base: str, label: str) -> list[float] | None:
    found = ratio({base: boards[base]}, label, {base: boards[point]}, label) if base in boards and point != base else None
    return None if found is None else [round(found.low, 4), round(found.high, 4)]


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
    boards = {kind: of_kind.get(name) for kind, of_kind in results.boards.items()}
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
        "resolution": {kind: None if board is None else board.resolution for kind, board in boards.items()},
    }


def _algorithm(results: Results, selector: str, label: str) -> Document:
    """Returns an algorithm with the advantages that it has at some point with published options."""
    family = results.families[label]
    found = {words for point in results.suite.points for words in results.advantages(point.name, selector, tuned=False)}
    return {
        "label": label,
        "selector": selector,
        "family": family,
        "advantages": [] if family == "reference" else sorted(found),
    }
