"""Numbers over several points, against truths that are made up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from fedbench.suites.findings import numbers, servers
from fedbench.suites.findings.page import page
from fedbench.suites.findings.results import Results
from fedbench.suites.tuning_parts import Seeds
from tests.analysis.runs_made_up import SCATTER, arriving
from tests.suites.findings.made_up import results

TUNED = {
    "calm": {"fedavg": 8, "fedbuff": 4, "fedprox": 12, "asysg": 2, "centralised": 1},
    "rough": {"fedavg": 4, "fedbuff": 8, "fedprox": None, "asysg": 3},
}
TEN, ALL = "10 clients at work", "all clients at work"


def mean(second: float) -> float:
    return math.exp(np.mean(np.log(second + np.array(SCATTER))))


def test_rankings_of_a_kind() -> None:
    found = results(TUNED, {"calm": {"fedavg": 16}})
    assert list(found.systems) == [TEN, ALL]
    assert {point: one.leader for point, one in numbers.rankings(found, TEN).items()} == {"calm": "fedbuff", "rough": "fedavg"}
    assert numbers.rankings(found, ALL)["calm"].rows == ("asysg",)
    assert list(numbers.rankings(found, TEN, tuned=False)) == ["calm"]


def test_what_it_costs_to_always_use_one_row() -> None:
    """FedAvg costs twice as much at one point and half as much at the other."""
    found = {one.row: one for one in numbers.always(numbers.rankings(results(TUNED, {}), TEN))}
    fedavg, fedbuff, fedprox = found["fedavg"], found["fedbuff"], found["fedprox"]
    assert fedavg.ratio[0] == pytest.approx(math.sqrt(mean(8) / mean(4)))
    assert fedavg.ratio[1] < fedavg.ratio[0] < fedavg.ratio[2]
    assert (fedavg.worst, fedavg.worst_at) == (pytest.approx(mean(8) / mean(4)), "calm")
    assert fedbuff.worst_at == "rough"
    assert (fedprox.is_bound, fedavg.is_bound, fedavg.points) == (True, False, 2)
    assert [one.row for one in numbers.always(numbers.rankings(results(TUNED, {}), TEN))][-1] == "fedprox"


def test_only_rows_of_all_points_are_averaged() -> None:
    rows = {"calm": {"fedavg": 8, "fedbuff": 4}, "rough": {"fedavg": 8}}
    assert [one.row for one in numbers.always(numbers.rankings(results(rows, {}), TEN))] == ["fedavg"]
    assert numbers.always({}) == []


def test_three_seeds_are_too_few_to_be_drawn() -> None:
    """So nothing is averaged over points, and the price of waiting has the interval of its pair of
    rows, which is wider than the three seeds."""
    every = results(TUNED, {})
    suite = every.suite.model_copy(update={"seeds": Seeds(count=3)})
    few = replace(
        every, suite=suite, seats={at: {row: runs[:3] for row, runs in rows.items()} for at, rows in every.seats.items()}
    )
    ranked = numbers.rankings(few, TEN)
    assert numbers.always(ranked) == []
    assert "What it costs to always use one algorithm" not in page([few], "command")
    price, own = numbers.waiting(ranked["calm"], few.synchronous), ranked["calm"].pair("fedavg", "fedbuff")
    assert price is not None
    assert own is not None
    assert price.ratio == (own.value, own.low, own.high)


def test_the_price_of_waiting() -> None:
    found = results(TUNED, {})
    ranked = numbers.rankings(found, TEN)
    price = numbers.waiting(ranked["calm"], found.synchronous)
    assert price is not None
    assert price.ratio.value == pytest.approx(mean(8) / mean(4))
    assert price.ratio.low < price.ratio.value < price.ratio.high
    assert price.misses == (False, False)
    assert numbers.waiting(ranked["calm"], ["fedavg", "fedprox", "fedbuff"]) is None
    never = results({"calm": {"fedavg": None, "fedbuff": 4}}, {})
    assert numbers.waiting(numbers.rankings(never, TEN)["calm"], never.synchronous) is None


def with_a_miss(selector: str, more: Mapping[str, float] | None = None) -> Results:
    found = results({"calm": {"fedavg": 8, "fedbuff": 4, **(more or {})}}, {})
    rows = found.seats["calm"][f"{selector} (tuned)"]
    rows[0] = arriving(selector, 0, None, scenario="calm", scenario_hash="calm")
    return found


def test_bounds_of_the_price() -> None:
    for selector, sign in (("fedavg", "≥"), ("fedbuff", "≤")):
        found = with_a_miss(selector)
        assert f"{numbers.waiting(numbers.rankings(found, TEN)['calm'], found.synchronous)}".startswith(f"{sign} ")


def test_default_over_tuned_at_the_same_targets() -> None:
    found = results(TUNED, {"calm": {"fedavg": 13, "fedbuff": 4}, "rough": {"fedbuff": 4}})
    ratios = numbers.default_over_tuned(found, "fedavg")
    assert list(ratios) == ["calm"], "the other point has no default row"
    assert ratios["calm"] == pytest.approx(mean(13) / mean(8))
    assert numbers.default_over_tuned(found, "centralised") == {}, "a reference is in no group"
    never = results({"calm": {"fedavg": None, "fedbuff": 4}}, {"calm": {"fedavg": None}})
    assert numbers.default_over_tuned(never, "fedavg") == {}, "neither reaches anything"
    assert numbers.geometric_mean([2, 8]) == pytest.approx(4)


def test_two_systems_side_by_side() -> None:
    found = numbers.side_by_side(results(TUNED, {}))
    assert found is not None
    assert (found.fewer, found.more, found.points) == (TEN, ALL, 2)
    assert found.seconds == pytest.approx(math.sqrt(mean(2) / mean(4) * mean(3) / mean(4)))
    assert found.gradients == pytest.approx(1), "made-up runs have spent 200 gradients when they arrive"
    assert numbers.side_by_side(results({"calm": {"fedavg": 8, "fedecho": 2}}, {})) is None
    missing = with_a_miss("fedbuff", more={"asysg": 2})
    side = numbers.side_by_side(missing)
    assert side is not None
    assert side.seconds == pytest.approx(mean(2) / mean(8)), "the row that misses a seed does not hold the target"


def test_leaders_by_rule() -> None:
    assert set(numbers.leaders(results(TUNED, {}), TEN, "calm").values()) == {"fedbuff"}


def test_a_server_has_no_lead_where_the_others_get_no_verdict() -> None:
    """They hold every target within ten steps of the grid, so that none of their rows has a
    cost."""
    found = results({"calm": {"fedbuff": 0.2, "fedasync": 0.25, "fedecho": 8}}, {})
    (kind,) = [kind for kind, groups in found.systems.items() if groups["calm"].public_data]
    assert servers.lead(found, kind, "calm") is None
