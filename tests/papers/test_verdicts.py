"""Verdicts on cells, and the orders of their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fedbench.documents.paper import Theory
from fedbench.engine.spec import RunSpec
from fedbench.papers import document, experiment, facts, parts
from fedbench.papers.cells import Cell, cells, chosen
from fedbench.papers.orders_of_convergence import MEASURED, PRINTED
from fedbench.papers.reading import Find, step
from fedbench.papers.verdicts import all_verdicts, orders, verdict
from fedbench.results.record import Record
from tests.conftest import record
from tests.leaderboard.papers import claim


def nothing(spec: RunSpec) -> Record | None:
    return None


def cell(address: str, number: int) -> Cell:
    return chosen(address, f"{number}")[0]


def reaching(place: float, spec: RunSpec) -> Record:
    """The run reaches its highest target at this place in seconds and in rounds."""
    target = max(one.value for one in spec.scenario.targets)
    made = record(seed=spec.seed, curve=(0.1, target + 0.01), seconds=(0.0, place), columns={"version": (0.0, place)})
    return made.model_copy(update={"run_id": spec.run_id, "spec": spec.recorded})


def gives(numbers: Mapping[tuple[str, int], Sequence[float]]) -> Find:
    """By address and number of a cell, the places at which its seeds reach the target."""
    known: dict[str, Record] = {}
    for (address, number), places in numbers.items():
        one = cell(address, number)
        for seed, place in enumerate(places):
            spec = experiment.spec(one, seed)
            known[spec.run_id] = reaching(place, spec)
    return lambda spec: known.get(spec.run_id)


def test_without_records_nothing_is_reproduced() -> None:
    """Every cell has a word and a reason, and the price or the missing data where it is not run."""
    for one in all_verdicts(cells(), nothing, {}):
        assert one.word in ("agrees", "not run", "not comparable"), one.cell.name
        assert one.why, one.cell.name
        assert not one.readings


def test_a_number_that_is_reproduced() -> None:
    found = verdict(cell("000:T1", 1), gives({("000:T1", 1): (50, 51, 54)}), {})
    assert (found.word, found.mean, len(found.run_ids)) == ("reproduced", pytest.approx(155 / 3), 3)
    assert found.half_width == pytest.approx(5.17, abs=0.01)
    assert found.command == "fedbench reproduce 000:T1 --cells 1"


def test_some_of_the_seeds_are_no_number() -> None:
    """A verdict waits for all of them: no seed is dropped."""
    found = verdict(cell("000:T1", 1), gives({("000:T1", 1): (48, 51)}), {})
    assert (found.word, found.why) == ("not run", "2 of 3 seeds have a record.")


def test_readings_lie_on_the_grid_of_their_kind() -> None:
    """Seconds on that of the evaluations, rounds on whole numbers, accuracies on none that
    matters."""
    assert step(cell("000:T1", 1)) == experiment.scenario(cell("000:T1", 1)).evaluation.every_seconds > 0
    assert step(cell("001:T1", 1)) == 1
    assert step(cell("004:T2", 1)) == step(cell("001:T2", 1)) == 0
    found = verdict(cell("001:T1", 2), gives({("001:T1", 2): (20, 20, 20)}), {})
    assert (found.word, found.half_width) == ("reproduced", pytest.approx(0.717, abs=1e-3))


def test_accuracies_are_known_by_their_metric() -> None:
    assert {one.metric for one in cells() if one.is_accuracy} == {
        "test_acc",
        "validation_acc",
        "gsm8k_acc",
        "test_acc_after_100_rounds",
    }


def test_a_guess_and_a_damaged_number() -> None:
    find = gives({("001:T1", 1): (2, 2, 2), ("001:T1", 4): (8, 8, 8)})
    guessed = verdict(cell("001:T1", 4), find, {})
    assert guessed.word == "close"
    assert "not printed" in guessed.why
    damaged = verdict(cell("001:T1", 1), find, {})
    assert (damaged.word, damaged.mean) == ("not comparable", 2)
    assert "a digit may be lost" in damaged.why


def test_a_substitute_gives_no_verdict_on_a_number() -> None:
    one = cell("004:T6", 3)
    known = record(curve=[0.7539] * 12)
    found = verdict(one, lambda spec: known if "fashion" in spec.scenario.name else None, {})
    assert (found.word, found.mean) == ("not run", pytest.approx(75.39))
    assert found.why == "It needs CIFAR-10 and CIFAR-100. Orders are read off a substitute."
    some = verdict(one, lambda spec: known if "fashion" in spec.scenario.name or spec.seed == 0 else None, {})
    assert (some.word, some.why) == ("not run", "1 of 3 seeds have a record. Orders are read off a substitute.")


def test_who_has_the_data_gets_a_verdict() -> None:
    """CIFAR-10 is not everywhere; where its runs are made they are judged."""
    assert verdict(cell("000:T1", 17), nothing, {}).why == "It needs CIFAR-10."
    found = verdict(cell("000:T1", 17), gives({("000:T1", 17): (300, 310, 290)}), {})
    assert (found.word, found.mean) == ("reproduced", 300)
    some = verdict(cell("000:T1", 17), gives({("000:T1", 17): (300, 310)}), {})
    assert (some.word, some.why) == ("not run", "2 of 3 seeds have a record.")


def test_other_hardware_is_not_comparable() -> None:
    known = record(curve=(0.1, 0.7), seconds=(0.0, 25.0), columns={"version": (0.0, 25.0)})
    found = verdict(cell("001:T2", 5), lambda spec: known, {})
    assert found.word == "not comparable"
    assert [one.value for one in found.readings.values()] == [25]


def test_a_fact_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(cell("001:T3", 1), nothing, {}).word == "agrees"
    monkeypatch.setattr(facts, "ours", lambda one: (261.0, "a model"))
    found = verdict(cell("001:T3", 1), nothing, {})
    assert (found.word, found.mean) == ("differs", 261)
    assert verdict(cell("000:T2", 79), nothing, {}).word == "not comparable"


def as_printed(**changes: dict[str, Any]) -> dict[str, list[Theory]]:
    """Lines whose exponents are the printed ones, but for changes of a claim's lines."""
    claims: dict[str, list[Theory]] = {name: [] for names in MEASURED.values() for name in names}
    for (name, check), exponent in PRINTED.items():
        line = claim(check, "slope", claim=name, measured=exponent, low=exponent - 0.02, high=exponent + 0.02)
        claims[name].append(Theory.model_validate(line | changes.get(name.replace("-", "_"), {})))
    return claims


def words_of(claims: dict[str, list[Theory]]) -> list[str]:
    return [verdict(one, nothing, claims).word for one in chosen("002:TI")]


def test_orders_of_convergence() -> None:
    assert words_of(as_printed()) == ["not comparable", *["agrees"] * 5]
    bound = "consistent with the bound"
    # cells 2 and 3 are FedAvg, 4 is FedAsync, 5 and 6 are FedBuff
    off = {"measured": -0.53, "low": -0.55, "high": -0.51}
    assert words_of(as_printed(fedavg_orders=off))[1:] == [bound, bound, *["agrees"] * 3]
    assert words_of(as_printed(fedbuff_delay_noise={"sign": -1}))[1:] == ["agrees"] * 3 + [bound] * 2
    assert words_of(as_printed(fedasync_delay={"measured": 1.0, "low": 1.0, "high": 1.0}))[3] == bound
    assert words_of(as_printed(fedavg_orders={"holds": False}))[1:4] == ["differs", "differs", "agrees"]
    claims = as_printed()
    del claims["fedasync-delay"]
    assert verdict(cell("002:TI", 4), nothing, claims).word == "not run"


def test_a_run_without_chance_contains_no_exponent() -> None:
    """Even one that is hit to the last bit: nothing says how far it may be from it."""
    exact = {"measured": -0.5, "low": -0.5, "high": -0.5}
    found = verdict(cell("002:TI", 2), nothing, as_printed(fedavg_orders=exact))
    assert found.word == "consistent with the bound"
    assert "Not as printed: against T -0.50 and not -0.5. Runs without noise have no interval." in found.why


def test_a_delay_that_helps_is_said() -> None:
    found = verdict(cell("002:TI", 5), nothing, as_printed(fedbuff_delay_noise={"sign": -1}))
    assert "change against tau 2.00 of a decrease" in found.ours
    assert "|grad F|^2 falls as tau grows" in found.why


def test_orders_are_of_one_setting() -> None:
    """FedAvg against DeFedAvg-IID with n = 10, and not FedAvg with n = 10 against n = 20."""
    find = gives({("000:T1", 1): (48, 51, 58), ("000:T1", 2): (160, 170, 180), ("000:T1", 13): (30, 20, 60)})
    found = list(orders(all_verdicts(chosen("000:T1"), find, {})))
    assert [(one.text, one.order, one.seeds) for one in found] == [("FedAvg > DeFedAvg-IID", "undecided", 3)]


def test_orders_on_a_substitute_say_so() -> None:
    accuracies = {"fedbuff": 0.8, "fedecho": 0.7}

    def find(spec: RunSpec) -> Record | None:
        accuracy = accuracies.get(spec.algorithm.name) if "fashion" in spec.scenario.name else None
        return None if accuracy is None else record(curve=[accuracy] * 12)

    found = list(orders(all_verdicts(chosen("004:T2"), find, {})))
    assert {(one.text, one.order) for one in found} == {("FedBuff < FedEcho", "undecided")}  # no scatter, by less than 1.2
    accuracies["fedecho"] = 0.6
    assert {one.order for one in orders(all_verdicts(chosen("004:T2"), find, {}))} == {"broken"}
    assert len(found) == 2  # two heterogeneities; FedEcho's other public data stand for nothing here
    assert all("Fashion-MNIST" in one.substitute for one in found)
    assert {one.word for one in found} == {"substitute: order undecided"}


def test_who_brings_the_data_gets_a_verdict_beside_what_stood_in() -> None:
    """Both have orders, and none of a pair of them."""
    accuracies = {"fedbuff": 0.8, "fedecho": 0.6}

    def find(spec: RunSpec) -> Record | None:
        return record(curve=[accuracies.get(spec.algorithm.name, 0.5)] * 12)

    found = all_verdicts(chosen("004:T2", "1,17"), find, {})
    assert [one.word for one in found] == ["not decided", "not decided"]
    names = ["fashion", "cifar10-jpeg", "cifar10-jpeg-resnet18"]
    assert [[way.cell.stand_in for way in one.stood_in] for one in found] == [names] * 2
    assert [one.word for one in orders(found)] == [
        "broken",
        "substitute: order broken",
        "substitute: order broken twice",
        "substitute: order broken once",
    ]
    told = [document._cell(one, []).why for one in found]
    assert "On fashion: 80" in told[0]
    assert "On cifar10-jpeg: 80" in told[0]
    without = replace(found[0].stood_in[0], cell=found[0].cell, stood_in=found[0].stood_in)
    assert "On fashion" not in document._cell(without, []).why, "its readings are those of the cell"
    assert "On cifar10-jpeg: 80" in document._cell(without, []).why


def test_seeds_that_are_run_later_count_when_all_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "seeds", lambda one: parts.Seeds(seeds=1, then=3))
    two, three = (verdict(cell("000:T1", 1), gives({("000:T1", 1): places}), {}) for places in ((48, 90), (48, 51, 54)))
    assert (two.mean, two.seeds) == (48, 1)
    assert (three.mean, three.seeds) == (51, 3)


def test_a_damaged_number_has_no_order() -> None:
    find = gives({("001:T1", 1): (2, 2, 2), ("001:T1", 3): (1, 1, 1), ("001:T1", 5): (9, 9, 9)})
    found = list(orders(all_verdicts(chosen("001:T1"), find, {})))
    assert [one.text for one in found] == ["step_async < non_iid"]
