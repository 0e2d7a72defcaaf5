"""The runs of a suite: what is there is taken, what fails is written down and tried again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from fedbench import registry
from fedbench.algorithms.fedavg import FedAvg
from fedbench.engine.spec import RunSpec
from fedbench.errors import MissingDataError
from fedbench.results.store import Store
from fedbench.scenarios.load import load as load_scenario
from fedbench.suites import campaign
from fedbench.suites.price import Cell, Total, planned, priced
from fedbench.suites.suite import load
from fedbench.types import Dispatch, Info, Rounds

SMOKE = load("smoke")


def specs(points: int = 1, selectors: tuple[str, ...] = ("fedavg",)) -> list[RunSpec]:
    return [spec for point in SMOKE.points[:points] for selector in selectors for spec in SMOKE.runs(point, selector)]


def test_what_is_there_is_not_computed_again(tmp_path: Path) -> None:
    store, wanted = Store(tmp_path), specs()
    assert len(campaign.missing(store, [*wanted, *wanted])) == 3
    first = campaign.compute(wanted[:2], store)
    second = campaign.compute(wanted, store, processes=2)
    assert (first.wanted, first.there, first.before) == (2, 2, 0)
    assert (second.wanted, second.there, second.before) == (3, 3, 2)
    assert campaign.missing(store, wanted) == []


def test_runs_of_a_seed_come_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[RunSpec] = []
    monkeypatch.setattr(campaign, "run_specs", lambda absent, **options: handed.extend(absent))
    wanted = specs(points=2, selectors=("fedavg", "fedbuff"))
    campaign.compute(wanted, Store(tmp_path))
    assert handed == sorted(wanted, key=lambda spec: spec.seed) != wanted


def test_a_failure_is_written_down_until_the_run_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, wanted = Store(tmp_path), specs()

    def fails(self: object) -> None:
        raise ArithmeticError("no luck")

    with monkeypatch.context() as broken:
        broken.setattr("fedbench.engine.run.Run.record", fails)
        for attempt in (1, 2):
            tally = campaign.compute(wanted, store)
            assert (tally.there, len(tally.failed)) == (0, 3)
            assert [one["attempts"] for one in campaign.failures(store)] == [attempt] * 3
    assert "no luck" in str(campaign.failures(store)[0]["why"])
    assert campaign.compute(wanted, store).there == 3
    assert campaign.failures(store) == []


def test_what_cannot_run_somewhere_says_why() -> None:
    found = list(campaign.applicable(SMOKE, SMOKE.points, ["fedavg", "fedsgd"]))
    refused = {(point.name, selector): why for point, selector, why in found if why}
    assert set(refused) == {("flaky", "fedsgd")}
    assert "needs every one of the 20 clients" in refused["flaky", "fedsgd"].replace("its weights p need", "needs")


def test_who_cannot_run_with_one_of_the_seeds_cannot_run() -> None:
    """Of four clients who come and go, all are there with seed 1 and not with seed 0: whoever needs
    them is refused, or a comparison of both seeds would never be complete."""
    come_and_go = "availability={kind: alternating, mean_on_seconds: 20, mean_off_seconds: 2, when_offline: paused}"
    scenario = load_scenario("digits-demo", ["clients=4", "budget.seconds=4", come_and_go])
    needs_all, seeds = RunSpec(scenario, registry.algorithm("fedsgd"), 1), range(2)
    assert planned(needs_all)[0] is not None
    assert planned(needs_all, [1])[0] is not None
    assert "needs every one of the 4 clients" in planned(needs_all, seeds)[1].replace("its weights p need", "needs")
    assert planned(RunSpec(scenario, registry.algorithm("fedavg[sampling=all]"), 1), seeds)[1] == ""


@dataclass(frozen=True, kw_only=True)
class Selecting(FedAvg):
    """FedAvg whose clients are chosen by the model's state, so that nobody can plan it."""

    name = "selecting"

    def dispatch(self, info: Info) -> Dispatch:
        return Rounds(select="external")


def test_who_has_no_plan_is_priced_as_fedavg() -> None:
    scenario = SMOKE.scenario_at(SMOKE.points[0])
    found, refused = planned(RunSpec(scenario, Selecting(), 0))
    other, _ = planned(RunSpec(scenario, FedAvg(), 0))
    assert refused == ""
    assert found is not None
    assert other is not None
    assert found.trained_steps == other.trained_steps


def test_missing_data_are_nobodys_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    scenario = load_scenario("fedecho-fashion-large-delay", ["task.name=cifar10", "task.model=softmax"])
    with pytest.raises(MissingDataError):
        planned(RunSpec(scenario, FedAvg(), 0))


def test_a_price_is_the_plans_steps_and_this_machines_seconds() -> None:
    told: list[str] = []
    cells = list(priced(SMOKE, SMOKE.points, ["fedavg", "fedsgd"], timed=True, tell=told.append))
    where = [(cell.point, cell.selector) for cell in cells]
    assert where == [
        ("calm", "fedavg"),
        ("calm", "fedsgd"),
        ("flaky", "fedavg"),
        ("flaky", "fedsgd"),
    ]
    assert told == ["timing fedavg", "timing fedsgd"]
    assert cells[3].refused
    assert cells[0].steps > 0
    assert (cells[0].seconds or 0) > 0
    total = Total.of(cells)
    assert total.runs == 3 * 3 * 2, "published and tuned rows"
    assert total.tried == 3 * 5 * 2
    assert total.steps == sum(cell.steps * (6 + 10) for cell in cells)
    assert total.core_seconds == pytest.approx(sum((cell.seconds or 0) * 16 for cell in cells))
    assert Total.of([Cell("calm", "fedavg", steps=5, runs=3)]).core_seconds is None
