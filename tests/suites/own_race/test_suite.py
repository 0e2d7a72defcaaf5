"""The suite of one scenario, and what is tuned in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.engine.spec import RunSpec
from fedbench.launch.runner import specs
from fedbench.scenarios.load import load
from fedbench.suites.own_race.suite import OneScenario, refused, space_of, whole
from fedbench.suites.space import load as load_space

from .conftest import MINE, SETTINGS, given, scenario

OPEN = scenario("at_work=null")


def of(*algorithms: str) -> OneScenario:
    return OneScenario.of(OPEN, algorithms, 0)


def test_a_seed_of_it_is_a_run_of_the_command() -> None:
    suite = OneScenario.of(scenario(), ["fedbuff"], 3)
    (spec,) = specs("digits-demo", whole(scenario(), "fedbuff"), [3], SETTINGS)
    assert suite.runs(suite.here, "fedbuff")[0].run_id == spec.run_id


@pytest.mark.parametrize(
    ("selector", "options", "expected"),
    [
        ("fedbuff", None, "fedbuff[concurrency=10]"),
        ("fedavg[cohort_size=4]", None, "fedavg[cohort_size=4]"),
        ("fedbuff[buffer_size=3,local_lr=0.2]", {"local_lr": 0.5}, "fedbuff[buffer_size=3,concurrency=10,local_lr=0.5]"),
    ],
)
def test_a_selector_with_all_that_the_run_has(selector: str, options: dict[str, object] | None, expected: str) -> None:
    assert whole(scenario(), selector, options) == expected


def test_intervals_end_at_the_number_of_clients_where_they_have_to() -> None:
    suite = of("quafl", "fedbuff", "fedavg")
    space, shipped = space_of(suite, None), load_space("map")
    assert shipped.algorithms["quafl"].options["cohort_size"].high > 20 == space.algorithms["quafl"].options["cohort_size"].high
    assert space.algorithms["fedbuff"].options == shipped.algorithms["fedbuff"].options
    assert set(space.algorithms) == {"quafl", "fedbuff", "fedavg"}
    assert refused(suite, "quafl", {"cohort_size": 21})
    assert not refused(suite, "quafl", {"cohort_size": 20})


def test_a_file_replaces_what_is_shipped(mine: str) -> None:
    Path("space.yaml").write_text(
        "{schema: 1, name: own, algorithms: {fedavg: {options: {local_lr: {low: 0.1, high: 0.2}}}, "
        f"{mine!r}: {{options: {{local_lr: {{low: 0.3, high: 0.4}}}}}}}}}}"
    )
    space = space_of(of("fedavg", "fedbuff", mine), "space.yaml")
    assert {name: one["local_lr"].low for name in space.algorithms if (one := space.algorithms[name].options)} == {
        "fedavg": 0.1,
        "fedbuff": load_space("map").algorithms["fedbuff"].options["local_lr"].low,
        "mine": 0.3,
    }
    assert space.algorithms["fedavg"].options.keys() == {"local_lr"}


def test_what_an_algorithm_declares_is_tuned_unless_a_file_says_otherwise(mine: str) -> None:
    """Another declaration is another race."""
    assert space_of(of(mine), None).algorithms == {}
    before = given(mine, tune=True).asked
    line = "    local_lr: float = option(0.1, search=Log(0.02, 0.5))\n    cohort_size: int = option(10, search=Log(1, 1000))\n"
    code = MINE.replace('    name = "mine"\n', f'    name = "mine"\n{line}').replace(
        "\n@", "from fedbench.protocols import Log, option\n\n\n@"
    )
    Path("declared.py").write_text(code)
    own = "./declared.py:Mine"
    entry = space_of(of(own), None).algorithms["mine"].options
    assert (entry["local_lr"].low, entry["local_lr"].high) == (0.02, 0.5)
    assert entry["cohort_size"].high == OPEN.clients, "a round has no more clients than there are"
    Path("space.yaml").write_text(
        f"{{schema: 1, name: own, algorithms: {{{own!r}: {{options: {{local_lr: {{low: 1, high: 2}}}}}}}}}}"
    )
    assert space_of(of(own), "space.yaml").algorithms["mine"].options.keys() == {"local_lr"}
    asked = given(own, tune=True).asked
    assert asked != before == "shipped space"
    assert asked.startswith("shipped space, ")
    assert given(own).asked == "no tuning"


def test_the_scenario_of_a_trial_is_that_of_the_file() -> None:
    suite = of("fedavg")
    assert suite.scenario_at(suite.here) is OPEN
    held_out = OneScenario.of(OPEN, ["fedavg"], 0, [{"trials": 4, "seeds": 3, "budget_share": 1}])  # type: ignore[list-item]
    assert (
        held_out.scenario_at(held_out.here, validation=True).content_hash() == load(OPEN, ["validation.share=0.1"]).content_hash()
    )
    assert RunSpec(OPEN, suite.algorithm("fedavg"), 0).run_id == suite.runs(suite.here, "fedavg")[0].run_id
