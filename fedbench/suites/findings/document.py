"""What the boards of a suite hold, as plain data: the site's overview is made from this document alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbench import rules
from fedbench.analysis import plain
from fedbench.analysis.board import times
from fedbench.analysis.profiles import Reference, profile
from fedbench.suites.findings.results import Results
from fedbench.suites.findings.sentences import DEFINITIONS, of_point, short_lines

SCHEMA = 1
KINDS = ("tuned", "published")
FACTORS = 2.0 ** np.arange(-2, 5.25, 0.25)
"""Of reference times: a quarter to 32 times."""

Document = dict[str, Any]


def document(results: Results, reference: Reference | None) -> Document:
    """Returns the suite, its points, its algorithms and, by kind of row and by point, the rows of every board; JSON values only, no NaN.

    Rows are those of `analysis.plain`; `first_alike` is among the tuned rows without an advantage. `profiles`: for factors of the frozen
    reference times, the share of targets and seeds that a row reaches within them.
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
            "tuned": {point: plain.rows(found, results.like_for_like.get(point)) for point, found in results.tuned.items()},
            "published": {point: plain.rows(found) for point, found in results.published.items()},
        },
        "profiles": _profiles(results, reference),
        "absent": results.absent,
    }


def _profiles(results: Results, reference: Reference | None) -> Document:
    if reference is None or not reference.seconds:
        return {"factors": [], "shares": {kind: {} for kind in KINDS}}
    shares = {}
    for kind, boards in (("tuned", results.tuned), ("published", results.published)):
        found = {label: times(boards, label) for label in results.labels.values()}
        shares[kind] = {label: profile(own, reference, FACTORS).round(4).tolist() for label, own in found.items() if own.seconds}
    return {"factors": FACTORS.tolist(), "shares": shares}


def _point(results: Results, name: str) -> Document:
    point = results.suite.point(name)
    scenario = results.suite.scenario_at(point)
    resolution = {"tuned": results.tuned.get(name), "published": results.published.get(name)}
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
        "targets": [float(target.value) for target in scenario.targets],
        "resolution": {kind: None if board is None else board.resolution for kind, board in resolution.items()},
    }


def _algorithm(results: Results, selector: str, label: str) -> Document:
    """Advantages are those that it has at some point, with published options."""
    family = results.families[label]
    found = {words for point in results.suite.points for words in results.advantages(point.name, selector, tuned=False)}
    return {
        "label": label,
        "selector": selector,
        "family": family,
        "advantages": [] if family == "reference" else sorted(found),
    }
