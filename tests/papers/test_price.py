"""What cells cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench import registry
from fedbench.engine.setup import Setup
from fedbench.papers import experiment, queue
from fedbench.papers.cells import cells, chosen
from fedbench.papers.price import MEASURED, measure, price, rate, rates, spent
from fedbench.papers.runs import ARCHIVES, in_archives, is_trained, used
from fedbench.results.sections import Used

ROOT = Path(__file__).parents[2]


def test_every_trained_cell_has_a_price() -> None:
    for one in cells():
        if is_trained(one):
            found = price(one)
            assert found.steps > 0, one.name
            assert found.core_seconds > 0, one.name


def test_steps_are_those_up_to_the_printed_number() -> None:
    """20 rounds of ten clients with 100 steps each; 500 updates of five jobs of two epochs of 1,000
    examples."""
    assert price(chosen("001:T1", "2")[0]).steps == 20_000
    assert price(chosen("004:T6", "1")[0]).steps == 100_000
    assert price(chosen("001:T6", "5")[0]).steps == pytest.approx(113 * 20 * 500, rel=0.6)


def test_the_price_is_made_of_the_rates() -> None:
    """20 evaluations, one a round."""
    found = rates()["cnn_21840", 25, "native"]
    assert price(chosen("001:T1", "2")[0]).core_seconds == pytest.approx(20_000 * found.step + 20 * found.evaluation)
    assert set(rates()) == set(MEASURED)


def test_a_run_has_the_price_of_its_trainer() -> None:
    """A large network is torch's."""
    ways = {one.stand_in: one for one in experiment.stand_ins(chosen("004:T2", "1")[0])}
    assert rate(experiment.spec(ways["cifar10-jpeg"], 0)) == rates()["cnn_878538", 50, "native"]
    assert rate(experiment.spec(ways["cifar10-jpeg-resnet18"], 0)) == rates()["resnet18", 50, "torch"]


@pytest.mark.parametrize("address", ["000:T1", "004:T2"])
def test_a_price_is_made_without_data_that_others_lack(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that pages are the same on a machine that has them: they are not read where they are."""
    cell = chosen(address, "17")[0]
    expected = price(cell)
    monkeypatch.setattr(Setup, "task", property(lambda setup: pytest.fail(f"{setup.scenario.task.name} is read")))
    assert price.__wrapped__(cell) == expected


def test_a_run_has_cost_what_it_trained() -> None:
    """By its own steps and evaluations. All that is committed fits the ten hours of two cores that
    the first runs may take, as the reasons of the cells that are not run say, and what the queue
    has spent since."""
    known = used(experiment.ways(cells()), in_archives(ROOT / ARCHIVES, cells()), varied=True)
    (one,) = (record for record in known if record.run_id == experiment.spec(chosen("001:T1", "2")[0], 0).run_id)
    of, trained = rates()["cnn_21840", 25, "native"], one.ledger.trained_steps
    assert trained >= 20_000
    points = len(one.curves["seconds"])
    assert spent([one]) == pytest.approx((trained * of.step + points * of.evaluation) / 7200)
    assert 0 < spent(known) < 10 + queue.spent(ROOT / ARCHIVES) / 2


def test_a_step_of_two_gradients_costs_two() -> None:
    """Each step of FedLin has a second gradient."""
    ways = chosen("001:T1", "2")
    run_id = experiment.spec(ways[0], 0).run_id
    (one,) = (record for record in used(ways, in_archives(ROOT / ARCHIVES, ways)) if record.run_id == run_id)
    fedlin = Used(name="fedlin", options=registry.algorithm("fedlin").options())
    other = one.model_copy(update={"spec": one.spec.model_copy(update={"algorithm": fedlin})})
    trained = one.ledger.trained_steps * rates()["cnn_21840", 25, "native"].step / 7200
    assert spent([other]) - spent([one]) == pytest.approx(trained)


def test_what_is_measured() -> None:
    """A step of the small model is timed on this machine; no bound, since machines differ."""
    found = measure("softmax", 25, "native", at_least=0.01)
    assert 0 < found.step < 1
    assert 0 < found.evaluation < 60
