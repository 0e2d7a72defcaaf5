"""Who shares a system."""

from __future__ import annotations

import pytest

from fedbench import registry
from fedbench.analysis.groups import Group, group_of, group_of_run
from tests.conftest import alter, record


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ("fedavg", "10 of 100 clients at work"),
        ("fedbuff[concurrency=10]", "10 of 100 clients at work"),
        ("fedbuff", "all 100 clients at work"),
        ("fedecho[concurrency=10]", "10 of 100 clients at work, public data"),
        ("defedavg_iid", "all 100 clients at work"),
        ("favano", "all 100 clients at work"),
    ],
)
def test_what_an_algorithm_has(selector: str, words: str) -> None:
    name, options = registry.parse_selector(selector)
    found = group_of(registry.find("algorithm", name).make(options), 100)
    assert found.words == words


def test_kinds_that_scenarios_share() -> None:
    assert Group(10, 100).kind == Group(10, 1000).kind == "10 clients at work"
    assert Group(100, 100).kind == Group(1000, 1000).kind == "all clients at work"
    assert Group(1000, 1000).words == "all 1,000 clients at work"
    assert Group(30, 30, public_data=True).kind == "all clients at work, public data"


def test_a_run_says_its_options() -> None:
    assert group_of_run(record("fedavg")) == Group(10, 100)
    assert group_of_run(record("fedbuff")) == Group(100, 100)


def test_a_scenarios_cap_makes_the_group() -> None:
    """Also of those that stay below it, and of those that are not built in."""
    for name in ("fedavg", "fedbuff", "damped"):
        one = record(name)
        alter(one, "spec.scenario.at_work", 30)
        assert group_of_run(one) == Group(30, 100)


def test_what_is_not_built_in_is_not_run() -> None:
    one = record("damped")
    assert group_of_run(one) == Group(0, 100)
    alter(one, "spec.algorithm", {"requires": ["public_data"], "origin": {"kind": "object", "class": "Mine"}})
    assert group_of_run(one) == Group(0, 100, public_data=True)
    assert Group(0, 100).words == "clients at work unknown"
