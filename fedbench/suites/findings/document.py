"""What the boards of a suite hold, as plain data: the site's overview is made from this document alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbench import rules
from fedbench.analysis.board import Board, Standing, times
from fedbench.analysis.profiles import Reference, profile
from fedbench.suites.findings.results import Results
from fedbench.suites.findings.sentences import DEFINITIONS, of_point, short_lines
from fedbench.suites.tuned import TUNED

SCHEMA = 1
KINDS = ("tuned", "published")
FACTORS = 2.0 ** np.arange(-2, 5.25, 0.25)
"""Of reference times: a quarter to 32 times."""

Document = dict[str, Any]


def document(results: Results, reference: Reference | None) -> Document:
    """Returns the suite, its points, its algorithms and, by kind of row and by point, the rows of every board; JSON values only, no NaN.

    A row has its mean time to the targets in virtual seconds with the half-width of its 95 % interval over seeds, the time of every seed,
    and for every target how many seeds reach it, the median second and the bytes until then. `first`: it is the earliest of its board, or
    the seeds cannot tell it from the earliest. `first_alike`: the same among the tuned rows without an advantage.
    `profiles`: for factors of the frozen reference times, the share of targets and seeds that a row reaches within them.
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
            "tuned": {point: _rows(results, point, found, tuned=True) for point, found in results.tuned.items()},
            "published": {point: _rows(results, point, found, tuned=False) for point, found in results.published.items()},
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


def _rows(results: Results, point: str, board: Board, *, tuned: bool) -> list[Document]:
    alike = results.like_for_like.get(point) if tuned else None
    first = {one.row for one in board.first}
    first_alike = {one.row for one in alike.first} if alike is not None else set()
    selectors = {label: selector for selector, label in results.labels.items()}
    found = []
    for one in board.standings:
        runs = results.seats[point][f"{selectors[one.row]}{TUNED if tuned else ''}"]
        found.append(
            {
                "label": one.row,
                "first": one.row in first,
                "first_alike": one.row in first_alike,
                "options": runs[0].meta["spec"]["algorithm"]["options"],
                "run_ids": [run.run_id for run in runs],
                **_standing(one),
            }
        )
    return found


def _standing(one: Standing) -> Document:
    return {
        "place": one.place,
        "mean": one.mean.mean,
        "half_width": one.mean.half_width,
        "seconds": {str(seed): second for seed, second in one.seconds.items()},
        "solved": one.solved,
        "unfinished": one.unfinished,
        "targets": [
            {"target": arrival.target, "hits": arrival.hits, "median": arrival.median, "bytes": arrival.bytes}
            for arrival in one.arrivals
        ],
    }
