"""Which runs enter a map, and with which cost."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedbench.analysis.board import BOARD_AXES
from fedbench.errors import UsageError
from fedbench.suites import suite as suites
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import factors
from fedbench.suites.mapped.columns import entered
from fedbench.suites.suite import Suite
from tests.conftest import altered
from tests.suites.findings.made_up import results as others
from tests.suites.mapped import made_up, small


def test_the_mean_cost_of_a_row_is_that_of_its_board(suite: Suite) -> None:
    """On every axis, also where a target is missed: the board's cost is then a lower bound too."""
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
                    assert math.exp(np.mean(np.log([rows["cost"][k] for k in own]))) == pytest.approx(ranking.cost(row))
                    assert any(rows["is_censored"][k] for k in own) == ranking.misses(row)
    assert 0.1 < np.mean(found.by_axis["seconds"]["is_censored"]) < 0.9


def test_a_run_that_holds_one_of_two_targets_is_censored_at_the_mean_of_what_it_spent(suite: Suite) -> None:
    """0.8 is held from second 4 on; the accuracy 0.95 never, until 5.2 s."""
    name, row = suite.points[0].name, "fedbuff (tuned)"
    results = made_up.results(suite, lambda *_: math.log(4), noise=0)
    two = [{"metric": "test_accuracy", "value": 0.8}, {"metric": "test_accuracy", "value": 0.95}]
    there = {label: [altered(run, {"spec.scenario.targets": two}) for run in runs] for label, runs in results.seats[name].items()}
    found = entered(replace(results, seats={**results.seats, name: there}))
    place = [k for k, at in enumerate(found.by_axis["seconds"]["point"]) if at == name]
    cost = {found.by_axis["seconds"]["cost"][k] for k in place if found.by_axis["seconds"]["algorithm"][k] in row}
    assert list(cost) == pytest.approx([math.sqrt(4 * 5.2)])
    assert [found.by_axis["seconds"]["is_censored"][k] for k in place] == [True] * len(place)


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
