"""Results of a suite whose truth is known: a row arrives at a second that the test states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbench.results.record import Record
from fedbench.suites.findings.results import Results
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import TUNED, Tuned
from tests.analysis.runs_made_up import SCATTER, SEEDS, arriving
from tests.conftest import altered, sixteen

Seconds = Mapping[str, float | None]
"""By selector the mean second at which its runs arrive; None: never."""


def suite(name: str = "made-up", points: tuple[str, ...] = ("calm", "rough"), algorithms: tuple[str, ...] = ("all",)) -> Suite:
    return Suite.model_validate(
        {
            "schema": 1,
            "name": name,
            "about": "Made up.",
            "scenario": "digits-demo",
            "points": [{"name": point, "axis": "delay", "about": f"It is {point}."} for point in points],
            "algorithms": algorithms,
            "options": {"concurrency": 10},
            "seeds": {"count": SEEDS},
            "tuning": {"space": "axes", "trials": 4, "seeds": {"first": 100, "count": 2}},
        }
    )


def runs(selector: str, point: str, second: float | None, tuned: bool, **more: Any) -> list[Record]:
    """Returns one run a seed."""
    found = []
    for seed, late in enumerate(SCATTER):
        at = None if second is None else second + late
        one = arriving(selector, seed, at, scenario=point, scenario_hash=point, **more)
        named = sixteen(f"{one.run_id}{TUNED * tuned}")
        found.append(altered(one, {"run_id": named, "digests.result": 2 * named}))
    return found


def results(tuned: Mapping[str, Seconds], default: Mapping[str, Seconds], of: Suite | None = None) -> Results:
    """By point, then by selector."""
    seats: dict[str, dict[str, list[Record]]] = {}
    for kind, given in (("", default), (TUNED, tuned)):
        for point, by_selector in given.items():
            for selector, second in by_selector.items():
                seats.setdefault(point, {})[selector + kind] = runs(selector, point, second, bool(kind))
    return Results(of or suite(), frozen(tuned), seats)


def frozen(tuned: Mapping[str, Seconds]) -> Tuned:
    """The best trial of everybody needs 4 s and the median trial 8 s."""
    spread = {"restricted_mean_seconds": [4.0, 6.0, 8.0, 9.0, 9.0], "validation_accuracy": [0.1] * 5}
    score = {"misses": 0, "restricted_mean_seconds": 4.0, "validation_accuracy": 0.1, "unfinished": 0}
    choice = {"trial": 0, "options": {}, "score": score, "trials": 5, "unfinished": 0, "spread": spread, "digest": "0" * 32}
    points = {point: dict.fromkeys(by_selector, choice) for point, by_selector in tuned.items()}
    head = {"schema": 1, "suite": "made-up", "design_hash": "", "space": "axes", "space_hash": "", "rule": 1}
    return Tuned.model_validate({**head, "points": points})
