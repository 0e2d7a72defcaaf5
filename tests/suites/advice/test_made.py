"""The map of a suite has what advice needs, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedbench as fb
from fedbench.analysis.map.draws import Draws, drawn
from fedbench.analysis.map.factors import Design, Factor
from fedbench.analysis.map.fit import fit
from fedbench.analysis.map.saved import write
from fedbench.errors import UsageError
from fedbench.suites import suite as suites
from fedbench.suites.advice.made import made
from fedbench.suites.design.schema import load
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import Tuned
from tests.analysis.map.made_up import World
from tests.analysis.map.made_up_map import GOOD

NAMES = {"fedavg": "fedavg", "fedbuff": "fedbuff", "mifa[sampling=without_replacement,start=warm]": "mifa"}
ABOUT = {
    "regrets": {"seconds": np.zeros((60, 3))},
    "public_data": (),
    "records": 540,
    "seeds": (3, 3),
    "commit": "0123456789ab",
    "made": "2026-12-01",
}


@pytest.fixture(scope="module", name="suite")
def _suite() -> Suite:
    return suites.load("map")


@pytest.fixture(scope="module", name="draws")
def _draws(suite: Suite) -> Draws:
    """Draws of a model without interactions, of made-up runs at the points of the suite."""
    several = [point for point in suite.points if point.kind == "design"]
    factors = [
        Factor(name, kinds=tuple(map(str, one.values)) if one.numbers is None else (), is_log=one.scale == "log")
        for name, one in load("map").factors.items()
    ]
    at = {
        "point": [point.name for point in several],
        **{one.name: [point.levels[one.name] for point in several] for one in factors},
    }
    generator = np.random.Generator(np.random.Philox(3))
    world = World(algorithms=3)
    truth = world.truth(generator, Design.over(factors, (), at))
    columns = truth.runs(generator, at["point"], truth.expected(generator, at))
    columns["algorithm"] = [list(NAMES.values())[int(name[1:])] for name in columns["algorithm"]]
    return drawn(fit(columns, at, factors), replicates=1, draws=20)


def test_the_map_of_the_suite_answers(suite: Suite, draws: Draws, tmp_path: Path) -> None:
    """With options that were tuned at a point like the scenario, whose levels are measured."""
    point = suite.point("design-27")
    choice = {
        "trial": 0, "options": {"local_lr": 0.125}, "trials": 1, "unfinished": 0, "digest": "0" * 32,
        "score": {"misses": 0, "restricted_mean_seconds": 1.0, "validation_accuracy": 0.5, "unfinished": 0},
        "spread": {"restricted_mean_seconds": [1.0] * 5, "validation_accuracy": [0.5] * 5},
    }  # fmt: skip
    frozen = Tuned.model_validate(
        {
            "schema": 1, "suite": "map", "design_hash": "0", "space": "map", "space_hash": "0", "rule": 1,
            "points": {"design-27": dict.fromkeys(NAMES, choice)},
        }
    )  # fmt: skip
    found = made(suite, frozen, {"seconds": draws}, {"seconds": GOOD}, labels=NAMES, **ABOUT)
    write(tmp_path / "map.npz", found)
    answer = fb.advise(suite.scenario_at(point), map=tmp_path / "map.npz")
    assert {choice.tuned_at for choice in answer.choices} == {"design-27"}
    assert all("local_lr=0.125" in choice.selector for choice in answer.choices)
    assert answer.outside == ()
    assert {level.factor for level in answer.levels} == set(point.levels)
    assert answer.basis.startswith("Rests on suite map: 60 points, 3 seeds, 540 records, commit 0123456789ab")
    assert found.about.selectors == {"mifa": "mifa[sampling=without_replacement,start=warm]"}
    assert found.about.first == ("at_work",)


def test_without_a_verdict_a_map_does_not_predict(suite: Suite, draws: Draws) -> None:
    assert not made(suite, None, {"seconds": draws}, {}, labels=NAMES, **ABOUT).costs["seconds"].predicts
    assert made(suite, None, {"seconds": draws}, {"seconds": GOOD}, labels=NAMES, **ABOUT).costs["seconds"].predicts
    bad = {"seconds": replace(GOOD, hits=(False,) * 3)}
    assert not made(suite, None, {"seconds": draws}, bad, labels=NAMES, **ABOUT).costs["seconds"].predicts


@pytest.mark.fashion
def test_kinds_without_a_number_are_measured(suite: Suite, draws: Draws) -> None:
    """As in a suite whose options are tuned at every point."""
    assert suite.tuning is not None
    numbers = made(suite, None, {"seconds": draws}, {}, labels=NAMES, **ABOUT).about.numbers["skew"]
    alone = suite.model_copy(update={"tuning": None})
    measured = made(alone, None, {"seconds": draws}, {}, labels=NAMES, **ABOUT).about
    assert measured.numbers["skew"] == pytest.approx(numbers, abs=0.02)
    assert measured.first == ()


@pytest.mark.fashion
@pytest.mark.parametrize(
    ("factor", "levels", "message"),
    [
        (
            "spread",
            {0: 1.0, 0.5: 4.0, 1.2: 8.0},
            r"factor spread is 8 at design-08, where 1\.2 is measured; advice .*, sd of log speed$",
        ),
        ("at_work", {5: 0.05, 10: 0.1, 30: 0.3, 100: 1.0}, r"factor at_work is 0\.05 at design-01, where 5 is measured"),
    ],
)
def test_levels_of_another_meaning_are_refused(
    suite: Suite, draws: Draws, factor: str, levels: dict[float, float], message: str
) -> None:
    """A ratio of speeds in the place of their spread, shares in the place of numbers."""
    points = tuple(
        point.model_copy(update={"levels": point.levels | {factor: levels[float(point.levels[factor])]}})
        for point in suite.points
    )
    with pytest.raises(UsageError, match=f"^suite map: {message}"):
        made(suite.model_copy(update={"points": points}), None, {"seconds": draws}, {}, labels=NAMES, **ABOUT)


def test_a_suite_without_a_design_has_no_map(draws: Draws) -> None:
    with pytest.raises(UsageError, match=r"^suite smoke: a map needs a suite with a scenario and a design$"):
        made(suites.load("smoke"), None, {"seconds": draws}, {}, labels=NAMES, **ABOUT)
