"""From a cell to its runs."""

from __future__ import annotations

import itertools

import pytest

from fedbench.errors import UsageError
from fedbench.papers import ceilings, experiment
from fedbench.papers.cells import PAPERS, Cell, cells, chosen
from fedbench.papers.price import price, price_varied
from fedbench.papers.rules import FEWEST_ROUNDS, LIMIT
from fedbench.papers.runs import _reads, is_run, is_trained


def cell(address: str, number: int) -> Cell:
    return chosen(address, f"{number}")[0]


def test_every_table_is_described() -> None:
    """No table of the papers without an entry, no entry without a table."""
    for paper in PAPERS:
        assert set(experiment.experiments(paper).tables) == {one.table for one in cells() if one.paper == paper}


def test_every_cell_that_is_measured_has_a_run_or_a_reason() -> None:
    for one in cells():
        if experiment.table(one).kind != "runs":
            continue
        if is_run(one):
            assert experiment.spec(one, 0).run_id
        else:
            assert experiment.table(one).cannot or experiment.seeds(one).why


def test_the_papers_options_are_in_the_selectors() -> None:
    """Table 2 has the rates behind table 1: what is run is what is printed there."""
    rates = {
        (one.algorithm, one.setting["partition"], one.setting["dataset"], one.setting["n"], one.metric): one.value
        for one in chosen("000:T2")
    }
    for one in chosen("000:T1"):
        options = experiment.spec(one, 0).algorithm.options()
        key = (one.algorithm, one.setting["partition"], one.setting["dataset"], one.setting["n"])
        assert one.setting["n"] in (options.get("cohort_size"), options.get("buffer_size"))
        for metric, name in (("eta_l", "local_lr"), ("eta_g", "server_lr")):
            printed = rates.get((*key, metric))
            if printed is not None:
                assert options[name] == printed, one.name


def test_a_run_ends_at_its_target_or_at_the_limit() -> None:
    found = experiment.scenario(cell("000:T1", 13))
    assert (found.name, found.budget.stop_at_target) == ("defedavg-fashion-iid", True)
    assert found.budget.seconds == LIMIT * 26.39
    assert experiment.scenario(cell("000:T1", 8)).budget.seconds == 880  # printed as >880
    assert experiment.scenario(cell("001:T1", 4)).budget.seconds == FEWEST_ROUNDS  # printed as 8 rounds, of a second each
    assert experiment.scenario(cell("001:T1", 8)).budget.seconds == LIMIT * 339


def test_what_varies_is_set() -> None:
    """A cell's model, shares and steps are those of its condition."""
    neither, both = (experiment.scenario(cell("001:T1", number)) for number in (1, 8))
    assert (neither.task.model, neither.partition.kind, neither.local.steps) == ("softmax", "iid", 100)
    assert (both.task.model, both.partition.kind) == ("cnn_21840", "dirichlet")
    assert len(experiment.guesses(cell("001:T1", 8))) == 2
    assert experiment.guesses(cell("001:T1", 1)) == []


def test_the_levels_of_a_utilisation() -> None:
    """Down by five percent; the slow ones do no more than they did."""
    found = list(experiment.levels(cell("001:T2", 1)))
    assert [percent for percent, _, _ in found] == list(range(100, 0, -5))
    first, second = (search.local.steps for _, search, _ in itertools.islice(found, 2))
    assert first.model_dump() == {"kind": "extreme", "low": 100, "high": 4000}
    assert second.model_dump()["high"] == 3800
    _, search, measured = found[0]
    assert (search.budget.updates, search.budget.stop_at_target) == (FEWEST_ROUNDS, True)
    assert (measured.budget.updates, measured.budget.stop_at_target) == (100, False)
    assert search.budget.seconds > 10 * FEWEST_ROUNDS  # rounds decide, and not how long full gradients make them
    with pytest.raises(UsageError, match=r"001:T1:1: utilisation needs local.steps of kind extreme"):
        list(experiment.levels(cell("001:T1", 1)))


def test_a_variation_changes_one_thing() -> None:
    """Of the scenario or of the algorithm; the run is another one."""
    for one in cells():
        for variation in experiment.variations(one):
            assert is_trained(one)
            before, after = experiment.spec(one, 0), experiment.spec(one, 0, variation)
            assert before.run_id != after.run_id
            assert (before.scenario == after.scenario) != (before.algorithm == after.algorithm)
            rates = len(variation.options.keys() & {"server_lr", "local_lr"})  # a row of a table of rates is one thing
            others = bool(variation.algorithm)
            assert len(variation.set) + len(variation.options) + others - max(0, rates - 1) == 1


def test_another_algorithm_may_be_run_in_the_place_of_a_cells() -> None:
    """With options of its own: those of the stand-in are for the printed algorithm."""
    (one,) = (way for way in experiment.ways(chosen("001:T6", "16")) if way.stand_in)
    (variation,) = experiment.variations(one)
    before, after = experiment.spec(one, 0), experiment.spec(one, 0, variation)
    assert (before.algorithm.name, before.algorithm.options()["local_lr"]) == ("fedagrac", 0.05)
    assert after.algorithm.name == "fedlin"
    assert after.algorithm.options()["local_lr"] == pytest.approx(0.05 * one.setting["K_mean"])
    assert price_varied(one, variation).core_seconds > 1.8 * price(one).core_seconds, "two gradients a step"


def test_a_variation_waits_for_the_ceiling_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before that its target would be the printed one."""
    ways = experiment.ways(chosen("001:T6", "16"))
    monkeypatch.setattr(ceilings, "reached", lambda *of: None)
    assert "the ceiling of cifar10-jpeg" in experiment.waits(ways[1])
    assert (experiment.seeds(ways[1]).last, list(_reads(ways[1:], lambda spec: None, varied=False, only="fedlin"))) == (0, [])
    known = ceilings.Measured(stand_in="cifar10-jpeg", augmentation="crop_flip", accuracy=0.8, half_width=0.01, seeds=3)
    monkeypatch.setattr(ceilings, "reached", lambda *of: known)
    experiment._scenario.cache_clear()
    wanted = [one.needs for one in _reads(ways[1:], lambda spec: None, varied=False, only="fedlin") if one.needs]
    experiment._scenario.cache_clear()
    assert [spec.algorithm.name for spec in wanted] == ["fedlin"] * 2
    (target,) = wanted[0].scenario.targets
    assert target.value == pytest.approx(0.68 / 0.7722 * 0.8, abs=1e-4)


def test_a_cell_that_cannot_be_made_again() -> None:
    with pytest.raises(UsageError, match=r"004:T4:1: it cannot be made again: It needs BERT-base"):
        experiment.scenario(cell("004:T4", 1))
