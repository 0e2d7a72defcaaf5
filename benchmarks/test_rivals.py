"""Whole runs beside other ways of them: how many times as fast they are to be, and whether all
learn as much. Slow; ways that are not installed are skipped."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from fedbench.bench import CASES, Case, Way, missing
from fedbench.bench.runs import spec_of
from tests.cli.commands import fedbench

pytestmark = [pytest.mark.slow, pytest.mark.fashion]
ASKED = [case for case in CASES.values() if case.asked]
SHARE, ROUNDS, SEEDS = 0.8, 9, 5
LEARNING = [
    pytest.param(case, way, id=f"{case.name}-{way.name}")
    for case in (CASES[f"run-fedavg-{name}"] for name in ("cnn-21840-tenth", "softmax-100-rounds", "1000-clients-50-rounds"))
    for way in case.versus
]


@pytest.mark.parametrize("case", ASKED, ids=[case.name for case in ASKED])
def test_ratio_to_the_fastest_rival(case: Case) -> None:
    """Four fifths of what is asked, which a busy machine is allowed."""
    done = fedbench("bench", case.name, "--rounds", str(ROUNDS), "--json")
    assert done.returncode == 0, done.stderr
    found = [row for row in map(json.loads, done.stdout.splitlines()) if row["ratio"] is not None]
    fastest = min(found, key=lambda row: row["theirs_us"])
    print(f"{case.name}: {fastest['ratio']:.2f} times as fast as {fastest['versus']}, asked {case.asked}")
    assert case.asked is not None
    assert fastest["ratio"] >= SHARE * case.asked, [(row["versus"], row["ratio"]) for row in found]


@pytest.mark.parametrize(("case", "way"), LEARNING)
def test_accuracy_over_five_seeds(case: Case, way: Way) -> None:
    """Those of softmax regression are equal but for rounding; masks of dropout make the runs of a
    CNN differ, and its means differ by less than three standard errors."""
    if reason := missing(way):
        pytest.skip(reason)
    given = [spec_of(case.size, seed) for seed in range(SEEDS)]
    ours, theirs = (np.array([outcome(one, spec)["test_accuracy"] for spec in given]) for one in (case.ours, way))
    allowed = 0.002 if "first_loss" in case.tolerances else 3 * np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / SEEDS)
    print(f"{case.name}, {way.name}: {theirs.mean():.4f}, ours {ours.mean():.4f}, allowed {allowed:.4f}")
    assert abs(ours.mean() - theirs.mean()) <= allowed, (ours, theirs)


def outcome(way: Way, spec: Any) -> Any:
    return way.start(spec).outcome()
