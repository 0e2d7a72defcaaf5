"""Which runs enter a map, and with which cost."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench.analysis.board import BOARD_AXES
from fedbench.errors import UsageError
from fedbench.suites import suite as suites
from fedbench.suites.anchors import Near
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import factors
from fedbench.suites.mapped.columns import entered
from fedbench.suites.suite import Suite
from tests.conftest import BUDGET, altered
from tests.suites.findings.made_up import results as others
from tests.suites.mapped import made_up, small


def test_the_mean_cost_of_a_row_is_that_of_its_board(suite: Suite) -> None:
    """On every axis, if it misses nothing. One that does is censored at what it had spent when it
    last could reach the target and be seen to hold it."""
    results = made_up.results(suite, budget=7.5)
    found = entered(results)
    for point, board in results.tuned.items():
        if suite.point(point).kind == "other_clients":
            continue
        for group in board.groups:
            for axis in BOARD_AXES:
                ranking, rows = board.ranking(group, axis), found.by_axis[axis]
                for row in ranking.rows:
                    own = [k for k in range(len(rows["cost"])) if (rows["algorithm"][k], rows["point"][k]) == (row, point)]
                    assert len(own) == small.SEEDS
                    cost = math.exp(np.mean(np.log([rows["cost"][k] for k in own])))
                    assert any(rows["is_censored"][k] for k in own) == ranking.misses(row)
                    if all(rows["is_censored"][k] for k in own):
                        assert cost == pytest.approx(ranking.cost(row) / 1.2)
                    elif not ranking.misses(row):
                        assert cost == pytest.approx(ranking.cost(row))
    assert 0.1 < np.mean(found.by_axis["seconds"]["is_censored"]) < 0.9


def _two_targets(suite: Suite, **fedbuff: Any) -> dict[str, dict[str, tuple[float, bool]]]:
    """By axis and algorithm the cost of runs at the first point, with two targets there. All hold
    0.5 from 3.9 s on and 0.8 from 4 s on, and end at 5.2 s; but FedBuff as it is given."""
    name, two = suite.points[0].name, [{"metric": "test_accuracy", "value": value} for value in (0.5, 0.8)]
    results = made_up.results(suite, lambda *_: math.log(4), noise=0)
    runs = [made_up.run("fedbuff", name, seed, 4.0, **fedbuff) for seed in range(small.SEEDS)]
    seats = {
        label: [altered(run, {"spec.scenario.targets": two}) for run in several]
        for label, several in {**results.seats[name], "fedbuff (tuned)": runs}.items()
    }
    found = entered(replace(results, seats={**results.seats, name: seats})).by_axis
    return {
        axis: {
            algorithm: (cost, is_censored)
            for algorithm, point, cost, is_censored in zip(
                *(rows[key] for key in ("algorithm", "point", "cost", "is_censored")), strict=True
            )
            if point == name
        }
        for axis, rows in found.items()
    }


PER_SECOND = {"seconds": 1, "gradient_evaluations": 1000, "bytes": 1000}


@pytest.mark.parametrize(
    ("fedbuff", "until"), [({"curve": [0.1, 0.5, 0.5, 0.5, 0.5, 0.5]}, 5.2), ({"state": "diverged"}, BUDGET)]
)
def test_a_run_that_misses_a_target_is_censored_at_a_bound_of_the_last_one_alone(
    suite: Suite, fedbuff: dict[str, Any], until: float
) -> None:
    """What it spent for targets that it reached says nothing of it: the bound is that of the last
    target, less what in whole runs of the point lies between that and the mean over targets. One
    that broke off had spent little, which is no sign of a small cost: it would have gone on at its
    pace, and reached nothing."""
    for axis, found in _two_targets(suite, **fedbuff).items():
        assert found["fedavg"] == (pytest.approx(PER_SECOND[axis] * math.sqrt(3.9 * 4), rel=1e-3), False)
        assert found["fedbuff"] == (pytest.approx(PER_SECOND[axis] * until / 1.2 / math.sqrt(4 / 3.9), rel=1e-3), True)


def test_rows_with_default_options_references_and_other_numbers_of_clients_stay_out(results: Results) -> None:
    point = results.suite.points[0].name
    rows = {**results.seats[point], "fedbuff": results.seats[point]["fedavg (tuned)"]}
    found = entered(replace(results, seats={**results.seats, point: rows}))
    kept = found.by_axis["seconds"]
    assert found.by_axis == entered(results).by_axis
    assert "centralised" not in kept["algorithm"]
    assert {results.suite.point(name).kind for name in kept["point"]} == {"design", "held_out"}


def test_rows_with_public_data_enter_the_model_and_no_comparison(results: Results) -> None:
    found = entered(results)
    assert found.public_data == {"fedecho"}
    points = factors.points(results.suite, "design")
    assert "fedecho" in found.at("bytes", points)["algorithm"]
    without = found.at("bytes", points, public_data=False)
    assert set(without["algorithm"]) == set(small.WITHOUT_DATA)
    assert set(without["point"]) == set(points["point"])


def test_seeds_of_a_row_that_a_race_dropped_stay(results: Results) -> None:
    """A row that has fewer seeds than others is complete on no board, and enters all the same."""
    point = results.suite.points[0].name
    rows = {**results.seats[point], "fedasync (tuned)": results.seats[point]["fedasync (tuned)"][:2]}
    found = entered(replace(results, seats={**results.seats, point: rows})).by_axis["seconds"]
    seeds = [
        seed
        for name, at, seed in zip(found["algorithm"], found["point"], found["seed"], strict=True)
        if (name, at) == ("fedasync", point)
    ]
    assert seeds == [0, 1]


def test_who_never_arrives_in_the_design_is_left_out(suite: Suite) -> None:
    def late(name: str, levels: dict[str, object]) -> float:
        return 5.0 if name == "fedasync" else made_up.seconds(name, levels)

    found = entered(made_up.results(suite, late, budget=20))
    assert found.left_out == {"fedasync": "it holds the last target at no point of the design"}
    assert "fedasync" not in found.at("seconds", factors.points(suite, "held_out"))["algorithm"]


def test_what_is_refused(suite: Suite, results: Results, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^suite made-up: its points are those of no design, so there are no factors to map$"):
        entered(others({}, {"calm": {"fedavg": 4}}))
    for file in ("small.yaml", "small-points.yaml"):
        text = (suite._beside[0] / file).read_text()
        (tmp_path / file).write_text(text.replace("{at_work: 8, ", "{"))
    with pytest.raises(UsageError, match=r"^suite small: design-03 has no cap on clients at work \(at_work\)"):
        entered(replace(results, suite=suites.load(tmp_path / "small.yaml")))
    name = suite.points[2].name
    early = {
        row: [made_up.run(run.spec.algorithm.name, name, run.seed, 0.5) for run in runs]
        for row, runs in results.seats[name].items()
    }
    with pytest.raises(UsageError, match=f"^suite small: no target gets a verdict at {name}, or it has no complete row$"):
        entered(replace(results, seats={**results.seats, name: early}))
    for nobody in (made_up.results(suite, budget=1), replace(results, seats={})):
        with pytest.raises(UsageError, match=r"^suite small: no algorithm holds the last target at a point of the design"):
            entered(nobody)


def test_rows_that_share_the_options_of_an_anchor_share_its_luck(suite: Suite, results: Results) -> None:
    """All points name the anchor they have their options from, and an anchor itself. Without
    anchors, luck and lack of fit are one."""
    assert set(entered(results).by_axis["seconds"]["tuning"]) == {None}
    assert results.frozen is not None
    first, second, *_ = (point.name for point in suite.points)
    lent = {
        name: {selector: replace(choice, anchor=Near(second, 0.5)) for selector, choice in choices.items()}
        if name == first
        else choices
        for name, choices in results.frozen.points.items()
    }
    anchored = suite.model_copy(update={"tuning": suites.load("map").tuning})
    with_anchors = replace(results, suite=anchored, frozen=results.frozen.model_copy(update={"points": lent}))
    rows = entered(with_anchors).by_axis["seconds"]
    found = dict(zip(rows["point"], rows["tuning"], strict=True))
    assert (found[first], found[second]) == (second, second)
    assert {point for point, anchor in found.items() if anchor != point} == {first}
