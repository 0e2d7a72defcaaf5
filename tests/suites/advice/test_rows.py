"""Which algorithms of a map can run on a scenario, and with which options they begin."""

from __future__ import annotations

import pytest

from fedbench.errors import UsageError
from fedbench.registry import selector_of
from fedbench.scenarios.load import load
from fedbench.suites.advice.rows import refused, started, tuned_near
from tests.analysis.map.made_up_map import NUMBERS, costs, made_up

PLACE = {"skew": NUMBERS["skew"]["iid"], "spread": 0.5, "at_work": 30, "steps": 10}


def test_an_algorithm_that_cannot_run_says_why() -> None:
    names = ("fedavg", "fedecho", "centralised", "favano")
    found = refused(dict(zip(names, names, strict=True)), load("digits-demo", ["at_work=5", "public=null"]), [0], {})
    assert found["fedavg"] == ""
    assert "needs public_data" in found["fedecho"]
    assert found["centralised"] == "algorithm centralised is a reference"
    assert "it may have 20 jobs under way" in found["favano"]
    assert refused({"fedecho": "fedecho"}, load("digits-demo", ["public={size: 50}"]), [0], {}) == {"fedecho": ""}


def test_who_cannot_run_where_jobs_are_lost_says_so() -> None:
    """Only the plan knows it: nothing says what becomes of a job that is routed and lost."""
    found = refused({"g": "generalized_async", "f": "fedasync"}, load("digits-demo", ["dropout=0.01"]), [0], {})
    assert "no job be lost" in found["g"]
    assert found["f"] == ""


def test_the_options_that_were_tuned_decide_whether_it_runs() -> None:
    few = load("digits-demo", ["clients=5"])
    assert "cohort_size must be at most" in refused({"m": "msync[cohort_size=69]"}, few, [0], {})["m"]
    assert refused({"m": "msync"}, few, [0], {"m": {"cohort_size": 69}}) == {"m": ""}


def test_who_cannot_run_with_one_of_the_seeds_cannot_run() -> None:
    """Of four clients who come and go, all are there with seed 1 and not with seed 0."""
    come_and_go = "availability={kind: alternating, mean_on_seconds: 20, mean_off_seconds: 2, when_offline: paused}"
    scenario = load("digits-demo", ["clients=4", "budget.seconds=4", come_and_go])
    assert refused({"fedsgd": "fedsgd"}, scenario, [1], {}) == {"fedsgd": ""}
    assert "not applicable" in refused({"fedsgd": "fedsgd"}, scenario, [1, 0], {})["fedsgd"]


def test_an_unknown_algorithm_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"unknown algorithm 'fedbuf'; did you mean 'fedbuff'"):
        refused({"fedbuff": "fedbuf"}, load("digits-demo"), [0], {})


@pytest.mark.parametrize(
    ("selector", "tuned", "wanted"),
    [
        ("fedavg", {"local_lr": 0.5, "cohort_size": 10}, "fedavg[cohort_size=4,local_lr=0.5]"),
        ("fedbuff", {"concurrency": 100, "buffer_size": 2}, "fedbuff[buffer_size=2,concurrency=4]"),
        ("mifa[sampling=without_replacement,start=warm]", {}, "mifa[cohort_size=4,sampling=without_replacement,start=warm]"),
        ("favano", {"local_lr": 0.5}, "favano[local_lr=0.5]"),
        ("favano", {"cohort_size": 3}, "favano[cohort_size=3]"),
        ("msync", {"cohort_size": 69}, "msync[cohort_size=20]"),
    ],
)
def test_the_cap_is_that_of_the_scenario(selector: str, tuned: dict[str, object], wanted: str) -> None:
    """Other options are those that were tuned: so is the number of clients that a poll asks, since
    it does not limit who is at work. It is at most the number of clients there are."""
    assert selector_of(started(selector, tuned, load("digits-demo", ["at_work=4"]))) == wanted


def test_options_are_those_of_the_nearest_point() -> None:
    given = costs(0)
    order = [str(given.points["point"][n]) for n in given.distances(PLACE, NUMBERS).argsort(kind="stable")]
    for several in (order, order[3:]):
        options = {point: {"fedavg": {"local_lr": 0.1 * k}} for k, point in enumerate(several)}
        assert tuned_near("fedavg", PLACE, given, made_up(options=options, first=()).about) == (several[0], {"local_lr": 0.0})
    assert tuned_near("ringmaster", PLACE, given, made_up().about) == ("", {})


def test_the_cap_on_jobs_counts_first_for_options() -> None:
    given = costs(0)
    at_work = dict(zip(given.points["point"], given.points["at_work"], strict=True))
    for cap, nearest in ((6, 5), (20, 30), (60, 100)):
        place = PLACE | {"at_work": cap}
        point, _ = tuned_near("fedavg", place, given, made_up().about)
        assert at_work[point] == nearest
        apart = dict(zip(given.points["point"], given.distances(place, NUMBERS), strict=True))
        assert apart[point] == min(apart[one] for one, level in at_work.items() if level == nearest)
