"""Numbers that are read off records."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from fedbench.engine.spec import RunSpec
from fedbench.errors import RecordError, UsageError
from fedbench.papers import experiment
from fedbench.papers.cells import Cell, chosen
from fedbench.papers.judging import Reading
from fedbench.papers.reading import Find, _hit, read, read_varied
from fedbench.papers.rules import LIMIT
from fedbench.results.record import Record
from tests.conftest import record


def cell(address: str, number: int) -> Cell:
    return chosen(address, f"{number}")[0]


def nothing(spec: RunSpec) -> Record | None:
    return None


def curve(*accuracies: float, **final: None) -> Record:
    """A grid point a second and an update, from the first on."""
    places = [1.0 + i for i in range(len(accuracies))]
    return record(curve=accuracies, seconds=places, columns={"version": places}, **final)


def by_seed(records: Mapping[int, Record]) -> Find:
    return lambda spec: records.get(spec.seed)


def test_what_has_no_record_is_needed() -> None:
    found = list(read(cell("000:T1", 1), nothing))
    assert [one.needs.seed for one in found if one.needs is not None] == [0, 1, 2]
    assert all(one.reading is None and not one.used for one in found)
    assert list(read(cell("004:T4", 1), nothing)) == []


def test_the_first_hit_in_seconds_and_in_rounds() -> None:
    """The target of the scenario, and not the one that the record happens to have; the end for a
    miss."""
    records = {0: curve(0.5, 0.91, 0.2), 1: curve(0.5, 0.89, 0.9), 2: curve(0.8, 0.89)}
    assert [one.reading for one in read(cell("000:T1", 1), by_seed(records))] == [
        Reading(2),
        Reading(3),
        Reading(2, missed=True),
    ]
    assert [one.reading for one in read(cell("001:T1", 2), by_seed(records))] == [Reading(2), Reading(2), Reading(1)]


def test_a_run_that_goes_on_counts_when_it_holds_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.91 is touched at 2 s and lost again; from 4 s on it is held."""
    one, touched = cell("000:T1", 9), curve(0.5, 0.91, 0.5, *[0.91] * 5)
    held = next(variation for variation in experiment.table(one).variations if variation.name == "held")
    (first,) = read_varied(one, held, by_seed({0: touched}))
    (*_, third) = read(one, by_seed(dict.fromkeys(range(3), touched)))
    assert (first.reading, third.reading) == (Reading(4), Reading(2))


def test_the_mean_of_the_last_ten_accuracies() -> None:
    records = dict.fromkeys(range(3), curve(0.0, *[0.5] * 5, *[0.6] * 5))
    (first, *_) = read(cell("004:T6", 1), by_seed(records))
    assert first.reading is not None
    assert first.reading.value == pytest.approx(55)


def test_a_time_of_a_run_that_diverged_is_a_miss_at_the_end_of_its_budget() -> None:
    lost = record(curve=[0.5, 0.6], seconds=[1.0, 2.0], columns={"version": [1.0, 2.0]}, state="diverged")
    (first, *_) = read(cell("000:T1", 1), by_seed({0: lost}))
    assert first.reading is not None
    assert (first.reading.missed, first.reading.diverged, first.reading.text) == (True, True, "diverged")
    assert first.reading.value > 2.0


def test_rounds_of_a_run_that_diverged_are_those_of_its_budget() -> None:
    """As many as one has that goes on to the end: twice the printed number, or the budget's."""
    lost = record(curve=[0.1, 0.1], seconds=[1.0, 2.0], columns={"version": [1.0, 2.0]}, state="diverged")
    one = cell("001:T1", 6)
    (first, *_) = read(one, by_seed({0: lost}))
    assert first.reading == Reading(LIMIT * one.amount, missed=True, diverged=True)
    (other,) = (way for way in experiment.stand_ins(cell("001:T6", 17)))
    assert _hit(lost, experiment.scenario(other), "updates") == Reading(80, missed=True, diverged=True)


def test_an_accuracy_of_a_run_that_diverged_or_has_none() -> None:
    (first, *_) = read(cell("004:T6", 1), by_seed({0: record(curve=[0.5] * 20, state="diverged")}))
    assert first.reading == Reading(0.0, diverged=True)
    for without in (curve(0.5), curve(*[0.5] * 19, math.nan, test_accuracy=None)):
        with pytest.raises(RecordError, match=r"004:T6:1, seed 0: .* no finite accuracy at its end \(it is finished\)"):
            next(read(cell("004:T6", 1), by_seed({0: without})))


def searched(first_good: int, rounds: int) -> Find:
    """Records of a search in which shares of up to `first_good` percent reach 60 % after `rounds`
    rounds."""
    known: dict[str, Record] = {}
    target = cell("001:T2", 1)
    for percent, search, measured in experiment.levels(target):
        good = percent <= first_good
        known[search.content_hash()] = curve(*[0.3] * (rounds - 1), 0.61 if good else 0.4)
        known[measured.content_hash()] = curve(*[0.3] * 99, 0.7)
    return lambda spec: known.get(spec.scenario.content_hash())


@pytest.mark.parametrize(("number", "found"), [(1, 80), (2, 40), (3, 70)])
def test_a_utilisation_is_searched_from_above(number: int, found: float) -> None:
    """100, 95, .. until one reaches the target; then rounds and accuracy are those of that one."""
    one = cell("001:T2", number)
    (result,) = read(one, searched(80, 40))
    assert result.reading is not None
    assert result.reading.value == pytest.approx(found)
    assert len(result.used) == 5 + (number == 3)


def test_a_search_asks_for_one_run_at_a_time() -> None:
    """The next percentage is not asked for before the one above it has failed."""
    one, seen = cell("001:T2", 3), []
    known = searched(95, 50)
    have: set[str] = set()
    for _ in range(5):
        (result,) = read(one, lambda spec: known(spec) if spec.run_id in have else None)
        if result.needs is None:
            break
        seen.append(result.needs.scenario.local.steps.model_dump()["high"])
        have.add(result.needs.run_id)
    assert seen == [4000, 3800, 3800]  # 100 % fails, 95 % reaches it, and is measured
    assert result.reading == Reading(pytest.approx(70))


def test_a_search_that_finds_nothing() -> None:
    (result,) = read(cell("001:T2", 1), searched(0, 50))
    assert result.reading == Reading(5, missed=True)
    assert len(result.used) == 20


def test_a_variation_is_read_like_its_cell() -> None:
    one = cell("001:T1", 3)
    variation = experiment.variations(one)[0]
    (result,) = read_varied(one, variation, by_seed({0: curve(0.1, 0.81)}))
    assert result.reading == Reading(2)
    with pytest.raises(UsageError, match=r"001:T2:1: variation .* needs a cell that one run makes again"):
        list(read_varied(cell("001:T2", 1), variation, nothing))
