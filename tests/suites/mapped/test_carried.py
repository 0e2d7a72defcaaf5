"""A suite at some points of the design of a map says what holds there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedbench.analysis.map import saved
from fedbench.cli import suite_map
from fedbench.cli.main import app
from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.suites import suite as suites
from fedbench.suites.advice import made
from fedbench.suites.findings.page import page
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import fitting
from fedbench.suites.mapped.carried import carried, transfer
from fedbench.suites.mapped.columns import entered
from fedbench.suites.mapped.fitting import Fitted
from fedbench.suites.mapped.statements import Map
from fedbench.suites.suite import Suite
from tests.conftest import alter
from tests.suites.mapped import made_up, small
from tests.suites.mapped.leading import leaders

POINTS = small.SOME


@pytest.fixture(scope="module", name="some")
def _some(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return small.some(tmp_path_factory.mktemp("some"))


def elsewhere(truth: Mapping[str, float]) -> made_up.Truth:
    """The truth of the map with algorithms that cost so much more, as logarithms."""
    return lambda name, levels: made_up.seconds(name, levels) + truth.get(name, 0.0)


def test_the_same_truth_carries_over(results: Results, some: Suite) -> None:
    for one in carried(results, made_up.results(some, noise=0.001)):
        assert one.points == tuple(POINTS)
        assert one.agreement.value > 0.8
        assert one.agreement.low <= one.agreement.value <= one.agreement.high
        assert one.agreement.value <= one.alike + 0.05 <= 1.05
        assert one.regret == pytest.approx((1, 1, 1), abs=0.02)
        assert not one.missed


def test_noise_alone_makes_orders_differ(results: Results, some: Suite) -> None:
    """It is said how much, so that it is not taken for another order: with the same truth the
    agreement is what seeds alone leave, on average."""
    found = [{one.axis: one for one in carried(results, made_up.results(some, noise=noise))}["seconds"] for noise in (0.001, 0.4)]
    assert found[0].alike > found[1].alike + 0.1
    assert found[1].agreement.value == pytest.approx(found[1].alike, abs=0.2)


def test_who_leads_is_asked_about(results: Results) -> None:
    """Of every set of the best one is there, and none that needs public data."""
    chosen = leaders(results, POINTS)
    assert chosen[0] == "fedavg"
    assert "fedecho" not in chosen
    sets = [set(one.best) for point in POINTS for one in results.tuned[point].rankings.values() if not one.group.public_data]
    assert all(one & set(chosen) for one in sets if one)
    assert leaders(results, POINTS, most=1) == ["fedavg"]


def test_what_turns_round_is_named(results: Results, some: Suite) -> None:
    """FedBuff, which was never second, is last: costs it has are e^2 over its own."""
    other = made_up.results(some, elsewhere({"fedbuff": 2.0}), noise=0.001)
    found = {one.axis: one for one in carried(results, other)}["seconds"]
    firsts = {point.name: first(point.levels) for point in some.points}
    assert set(found.missed) == {name for name, row in firsts.items() if row == "fedbuff"}
    assert set(found.missed) not in (set(), set(POINTS))
    logs = dict.fromkeys(POINTS, 0.0)
    for name, miss in found.missed.items():
        levels = some.point(name).levels
        best = min(runs_at(levels) - {"fedbuff"}, key=lambda row: made_up.seconds(row, levels))
        logs[name] = 2 + made_up.seconds("fedbuff", levels) - made_up.seconds(best, levels)
        assert (miss.first, miss.best, miss.is_bound) == ("fedbuff", best, False)
        assert miss.ratio == pytest.approx(math.exp(logs[name]), rel=0.02)
    assert found.regret.value == pytest.approx(math.exp(sum(logs.values()) / len(logs)), rel=0.02)
    assert found.agreement.value < {one.axis: one for one in carried(results, results)}["seconds"].agreement.value


def runs_at(levels: Mapping[str, Any]) -> set[str]:
    return {name for name in small.WITHOUT_DATA if name != "asysg" or levels["at_work"] == 20}


def first(levels: Mapping[str, Any]) -> str:
    return min(runs_at(levels), key=lambda row: made_up.seconds(row, levels))


def test_only_targets_that_both_have_count(results: Results, some: Suite) -> None:
    """The runs of the map have a second one, which none of them holds."""
    other = made_up.results(some, noise=0.001)
    both = with_a_later_target(results)
    with pytest.raises(UsageError, match="no algorithm holds the last target"):
        entered(both)
    assert entered(both, 1).by_axis == entered(results).by_axis
    assert carried(both, other) == carried(results, other)


def with_a_later_target(results: Results) -> Results:
    """The same runs with a second target, which is seen only at their end."""
    return replace(
        results,
        seats={
            name: {row: [with_target(run, 0.85) for run in runs] for row, runs in rows.items()}
            for name, rows in results.seats.items()
        },
    )


def with_target(run: Record, value: float) -> Record:
    again = run.model_copy(deep=True)
    goals = [goal.model_dump(mode="json") for goal in run.spec.scenario.targets]
    alter(again, "spec.scenario.targets", [*goals, goals[0] | {"value": value}])
    return again


def test_a_first_that_misses_there_costs_at_least_so_much(results: Results, some: Suite) -> None:
    other = made_up.results(some, elsewhere({"fedbuff": 2.0}), noise=0.001, budget=16)
    found = {one.axis: one for one in carried(results, other)}["seconds"]
    assert {one.is_bound for one in found.missed.values()} == {True}
    assert found.bounds == len(found.missed)
    whole = {one.axis: one for one in carried(results, made_up.results(some, noise=0.001))}["seconds"]
    assert whole.bounds == 0


def test_other_designs_and_too_few_points_are_refused(results: Results, some: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    other = made_up.results(some)
    with pytest.raises(UsageError, match=r"^suite some: expected at least 2 points .* 3 algorithms in common.*, got 0$"):
        carried(results, replace(other, seats={name: dict(list(rows.items())[-2:]) for name, rows in other.seats.items()}))
    monkeypatch.setattr(Suite, "designed", lambda self: self.name)
    with pytest.raises(
        UsageError, match=r"^suite some: its points are of design small-points.yaml, those of small of .* compared$"
    ):
        carried(results, other)


def test_the_page_says_it_after_the_map(results: Results, said: Map, some: Suite) -> None:
    other = made_up.results(some, elsewhere({"fedbuff": 2.0}), noise=0.001)
    text = page([results, other], "a command", {"small": said})
    (_, part) = text.split("### What holds in some\n")
    assert (
        part.index("With an MLP. Kendall's tau")
        < part.index("| virtual time | 4 |")
        < part.index("Virtual time, where the first")
    )
    assert "fedbuff costs " in part
    assert text.index("### How sure the map is") < text.index("### What holds in some") < text.index("## Words")
    assert "### What holds in" not in page([results], "a command", {"small": said})


def test_a_suite_at_some_points_has_no_map(suite: Suite, some: Suite) -> None:
    assert suite.has_map
    assert not some.has_map
    assert not suites.load("axes").has_map
    assert suites.load("map").has_map


def test_the_command_writes_what_advice_reads(
    results: Results, fitted: Fitted, said: Map, suite: Suite, some: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With how far it holds elsewhere; nothing else of the file depends on that."""
    other = made_up.results(some)
    monkeypatch.setattr(made, "NEAR", math.inf)
    monkeypatch.setattr(suites, "load", lambda name: {"small": suite, "some": some}[name])
    monkeypatch.setattr(suite_map, "load", lambda found, *_: results if found is suite else other)
    monkeypatch.setattr(fitting, "both", lambda *_, **__: fitted)
    (tmp_path / "small").mkdir()
    words = ["suite", "map", "small", "--archives", str(tmp_path)]
    for more, known in (([], 0), (["--elsewhere", "some"], 3)):
        done = CliRunner().invoke(app, [*words, "--advice", str(tmp_path / "map.npz"), *more])
        assert done.exit_code == 0, done.output
        found = saved.read(tmp_path / "map.npz")
        assert (found.about.suite, len(found.about.transfer)) == ("small", known)
    assert list(found.about.transfer) == transfer(results, other)
    assert found.about.transfer[0].where == "task digits with mlp"
    failed = CliRunner().invoke(app, [*words, "--elsewhere", "some"])
    assert str(failed.exception).startswith("--elsewhere: it is said in advice; expected --advice FILE")
