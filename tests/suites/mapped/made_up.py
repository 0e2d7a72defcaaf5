"""Results of the small suite whose truth is known: what every algorithm costs at any levels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fedbench.results.record import Record
from fedbench.suites.findings.results import Results
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import TUNED
from tests.analysis.runs_made_up import STEP
from tests.conftest import BUDGET, TARGET, alter, record
from tests.suites.mapped import small

Truth = Callable[[str, Mapping[str, Any]], float]
"""The expected logarithm of the seconds of an algorithm at some levels."""
WAITS = ("fedavg", "feddyn")
OF_ITS_OWN = {"fedbuff": 0.0, "fedasync": 0.4, "fedavg": -0.1, "feddyn": 0.2, "asysg": -0.3, "fedecho": -0.5, "centralised": -1}
DEAR = {"gradient_evaluations": {"feddyn": 0.1, "asysg": 5.0}, "bytes": {"feddyn": 0.2, "asysg": 20.0}}
"""Gradients and bytes a second, over those of FedBuff."""


def seconds(name: str, levels: Mapping[str, Any]) -> float:
    """Speeds that spread are dear for those that wait, and the fewer clients are at work the less
    so."""
    spread, work = (levels["spread"] - 4.5) / 3.5, math.log(levels["at_work"] / 60**0.5) / math.log(20 / 60**0.5)
    waiting = 0.3 * (1 + spread) + 0.15 * spread * work if name in WAITS else 0.0
    return math.log(4) + OF_ITS_OWN[name] + 0.25 * (levels["skew"] == "two_class") - 0.35 * work + waiting


HOLDS = (0.1, 0.5, TARGET, 0.85, 0.85, 0.9)


def run(name: str, point: str, seed: int, at: float | None, curve: Sequence[float] = HOLDS, **more: Any) -> Record:
    """A run that holds its target from second `at` on, unless it has another curve."""
    times: list[float] = [0, 5, 10, BUDGET]
    if at is not None:
        times = [0, at - STEP, at, 1.1 * at, 1.2 * at, 1.3 * at]
    else:
        curve = [0.1, 0.4, 0.5, 0.6]
    spent = {axis: [round(1000 * DEAR[axis].get(name, 1.0) * second) for second in times] for axis in DEAR}
    one = record(name, seed, curve, seconds=times, scenario=point, scenario_hash=point, columns=spent, **more)
    alter(one, "spec.scenario.evaluation.every_seconds", STEP)
    return one


def results(
    of: Suite, truth: Truth = seconds, *, noise: float = 0.03, budget: float = math.inf, leave_out: tuple[str, ...] = ()
) -> Results:
    """Runs of every algorithm that can run at a point, with tuned options. A run that would need
    more than the budget misses."""
    generator = np.random.default_rng(5)
    seats: dict[str, dict[str, list[Record]]] = {}
    for point in of.points:
        shared = generator.standard_normal(small.SEEDS) * noise
        for name in small.ALGORITHMS:
            own = generator.standard_normal(small.SEEDS) * noise
            if name in leave_out or (name == "asysg" and point.levels["at_work"] != 20):
                continue
            found = [math.exp(truth(name, point.levels) + late) for late in shared + own]
            runs = [run(name, point.name, seed, at if at < budget else None) for seed, at in enumerate(found)]
            seats.setdefault(point.name, {})[name + TUNED] = runs
    return Results(of, small.frozen(of), seats)
