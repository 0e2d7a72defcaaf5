"""A small map of made-up runs, as a file that advice can be asked from. The names of the algorithms
are real ones, so that they can be run.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedbench.analysis.map.draws import Draws, drawn
from fedbench.analysis.map.factors import Columns, Design
from fedbench.analysis.map.fit import fit
from fedbench.analysis.map.kept import Costs
from fedbench.analysis.map.prediction import Verdict, measured
from fedbench.analysis.map.saved import Saved, saved
from fedbench.scenarios.load import load
from tests.analysis.map.made_up import FACTORS, PAIRS, World, points

NAMES = ("fedasync", "fedavg", "fedbuff", "fedecho", "fednova", "ringmaster")
GOOD = Verdict(0.12, 0.3, 0.2, (2, 3, 2), (True, True, True))
BAD = replace(GOOD, error=0.4)
NUMBERS = {"skew": {"iid": 0.05, "dirichlet": 0.5, "two_class": 0.8}}


@functools.cache
def costs(seed: int, verdict: Verdict = GOOD) -> Costs:
    """Costs that were fitted to made-up runs at 24 points."""
    generator = np.random.Generator(np.random.Philox([31, seed]))
    at = points(generator, 24)
    truth = World(departure=(0.4, 0.3, 0.1, 0.2)).truth(generator, Design.over(FACTORS, PAIRS, at))
    columns = truth.runs(generator, at["point"], truth.expected(generator, at), seeds=(3, 4))
    columns["algorithm"] = [NAMES[int(name[1:])] for name in columns["algorithm"]]
    return kept(drawn(fit(columns, at, FACTORS, PAIRS), replicates=2, draws=50), at, verdict)


def kept(draws: Draws, at: Columns, verdict: Verdict | None) -> Costs:
    """What is kept of draws, with regrets by what was measured."""
    log = measured(draws.fit.runs).log
    return Costs.of(draws, at, verdict, log - np.nanmin(log, axis=1, keepdims=True))


def flat(log: Sequence[float], own: float = 1e-9, verdict: Verdict = GOOD) -> Costs:
    """Costs that are the same everywhere: these logarithms, which scatter by `own`."""
    given = costs(0)
    centre = np.zeros_like(given.centre)
    centre[:, 0] = log
    small = np.full(len(given.own), own)
    return replace(given, centre=centre, around=given.around * 0, own=small, shared=small, verdict=verdict)


def about() -> dict[str, Any]:
    """What a map says of itself."""
    return {
        "suite": "map",
        "commit": "0123456789ab",
        "made": "2026-11-27",
        "records": 504,
        "seeds": (3, 4),
        "scenario": load("map-fashion").resolved(),
        "numbers": NUMBERS,
        "public_data": ("fedecho",),
        "first": ("at_work",),
        "options": {f"p{n}": {name: {"local_lr": 0.01 * (n + 1)} for name in NAMES[:5]} for n in range(24)},
    }


def made_up(verdict: Verdict = GOOD, **changed: Any) -> Saved:
    """A map with three axes of costs."""
    axes = {axis: costs(seed, verdict) for seed, axis in enumerate(("seconds", "gradient_evaluations", "bytes"))}
    return saved(axes, **{**about(), **changed})
