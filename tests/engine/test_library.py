"""The library's budgets and prices: virtual time ends every run, updates only guard; only a paper's own pricing is fixed."""

from __future__ import annotations

from contextlib import suppress

import pytest

from fedbench import registry
from fedbench.engine.plan import plan
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import MissingDataError, UsageError
from fedbench.scenarios.load import load, names


@pytest.mark.parametrize("name", names())
def test_time_ends_the_run_of_every_algorithm(name: str) -> None:
    """With default options, of which some update at every arrival: far below the guard. Algorithms that do not apply are left out."""
    scenario, ended = load(name), []
    for algorithm in registry.names("algorithm"):
        with suppress(MissingDataError, UsageError):
            summary = plan(RunSpec(scenario, registry.algorithm(algorithm), 0))
            ended.append(summary.ended_by)
            assert 10 * summary.updates < scenario.budget.updates
    assert set(ended) <= {"time"}
    assert len(ended) >= 20 or scenario.task.name == "fashion_mnist"


@pytest.mark.parametrize("name", ["digits-demo", "digits-flaky"])
def test_our_own_scenarios_price_what_is_sent(name: str) -> None:
    """A message of one model takes 20 ms; one of two takes twice as long."""
    assert load(name).network.message == "payload"
    one, two = (Setup(RunSpec(load(name), registry.algorithm(a), 0)).timing() for a in ("fedavg", "scaffold"))
    assert one.download.a == one.upload.a == pytest.approx(0.020, rel=1e-3)
    assert two.download.a == two.upload.a == pytest.approx(2 * float(one.download.a))


def test_fixed_prices_are_a_papers() -> None:
    assert {name for name in names() if load(name).network.message == "fixed"} == {
        "defedavg-fashion-iid",
        "defedavg-fashion-two-class",
    }
