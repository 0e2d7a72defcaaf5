"""At a point with a cap on jobs under way every algorithm is given the option that keeps to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fedbench import registry
from fedbench.scenarios.load import load as scenario
from fedbench.suites import campaign
from fedbench.suites.at_work import capped
from fedbench.suites.suite import LIBRARY, Suite, load
from fedbench.types import Info

SMOKE: dict[str, Any] = yaml.safe_load((LIBRARY / "smoke.yaml").read_text())


def given(selector: str, *overrides: str) -> dict[str, object]:
    name, options = registry.parse_selector(selector)
    return capped(registry.find("algorithm", name), options, scenario("digits-demo", overrides))


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("fedavg", {"cohort_size": 5}),
        ("scaffold", {"cohort_size": 5}),
        ("fedbuff", {"concurrency": 5}),
        ("generalized_async", {"concurrency": 5}),
        ("mifa", {}),  # of everybody
        ("mifa[sampling=without_replacement]", {"cohort_size": 5}),
        ("favano", {}),  # draws so many of all, who work
        ("defedavg_niid", {}),
        ("asysg", {}),
        ("msync", {}),
        ("rennala", {}),
    ],
)
def test_what_keeps_to_the_cap(selector: str, expected: dict[str, object]) -> None:
    assert given(selector, "at_work=5") == expected
    assert given(selector) == {}


def test_those_that_are_selected_in_excess_are_at_work_too() -> None:
    assert given("fedavg", "at_work=5", "rounds.over_selection=2") == {"cohort_size": 3}
    assert given("fedbuff", "at_work=5", "rounds.over_selection=2") == {"concurrency": 5}


def test_every_algorithm_is_at_the_cap_or_has_all_at_work() -> None:
    for name in registry.ALGORITHMS:
        cls = registry.find("algorithm", name)
        options = given(name, "at_work=5")
        policy = cls.make(options).dispatch(Info(20, lambda: np.ones(20)))
        assert policy.at_a_time(20) == (5 if options else 20), name


def capped_suite(tmp_path: Path, **changes: Any) -> Suite:
    """Points with a cap of 5 and of all 20."""
    points = [{"name": f"{k}", "scenario": "digits-demo", "set": {"at_work": k, "budget.seconds": 5}} for k in (5, 20)]
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps({**SMOKE, "points": points, "options": {"concurrency": 7}, **changes}))
    return load(file)


def test_the_cap_of_a_point_is_in_the_options_and_so_in_the_ids(tmp_path: Path) -> None:
    """What is tuned comes first, then what a selector says, then the cap, then the suite's
    options."""
    suite = capped_suite(tmp_path, algorithms=["fedavg", "fedbuff", "fedbuff[concurrency=3]", "favano"])
    few, everybody = suite.points

    def options(selector: str, at: Any, **more: object) -> object:
        found = suite.algorithm(selector, more, at).options()
        return found["concurrency"] if "concurrency" in found else found["cohort_size"]

    assert [options("fedbuff", at) for at in (None, few, everybody)] == [7, 5, 20]
    assert [options("fedavg", at) for at in (few, everybody)] == [5, 20]
    assert options("fedbuff[concurrency=3]", few) == 3
    assert options("fedbuff", few, concurrency=2) == 2
    assert [options("favano", at) for at in (few, everybody)] == [10, 10]
    assert [spec.selector for spec in suite.runs(few, "fedavg")] == ["fedavg[cohort_size=5]"] * 3


def test_those_that_need_everybody_enter_where_the_cap_is_everybody(tmp_path: Path) -> None:
    suite = capped_suite(tmp_path, algorithms=["fedavg", "fedbuff", "favano", "rennala", "msync", "centralised"], tuning=None)
    refused = {
        (point.name, selector): why for point, selector, why in campaign.applicable(suite, suite.points, suite.selectors())
    }
    assert {key for key, why in refused.items() if why} == {("5", "favano"), ("5", "rennala"), ("5", "msync")}
    assert refused["5", "rennala"] == (
        "algorithm rennala is not applicable: it may have 20 jobs under way, and scenario digits-demo allows 5 (at_work)"
    )
