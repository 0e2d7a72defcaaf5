"""The library's budgets and prices: virtual time ends every run and updates only guard, but where a
paper's table counts updates; only a paper's own pricing is fixed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from fedbench import registry
from fedbench.engine.plan import plan
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import MissingDataError, UsageError
from fedbench.scenarios.load import load, names
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.trace_files import missing as missing_traces
from fedbench.tasks.available import missing, outline

COUNTED = {
    "fedagrac-cifar10-step-async": 200,
    "fedecho-cifar10-large-delay": 500,
    "fedecho-cifar10-mild-delay": 500,
    "fedecho-cifar100-large-delay": 1000,
    "fedecho-cifar100-mild-delay": 1000,
    "fedecho-mrpc-large-delay": 200,
}
"""Scenarios of papers whose tables compare after so many updates."""
WITHOUT_DATA = "defedavg-cifar10-iid", "defedavg-cifar10-two-class", "fedagrac-cifar10-step-async"
"""Scenarios on CIFAR in which no step and no duration depends on who has which examples."""


def lacks_traces(scenario: Scenario) -> bool:
    return any(links.folder and missing_traces(links.folder) for links in scenario.network.links.values())


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    monkeypatch.delenv("FEDBENCH_DOWNLOAD", raising=False)


LONG = "defedavg-cifar10-two-class"  # its plans have up to three million jobs


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name == LONG else name for name in names()])
def test_time_ends_the_run_of_every_algorithm(name: str) -> None:
    """With default options, of which some update at every arrival: far below the guard, also where
    clients that are alone wait for no slow network. Algorithms that do not apply are left out:
    under a cap those whose defaults have all clients at work."""
    scenario, ended = load(name), []
    for algorithm in registry.names("algorithm"):
        with suppress(MissingDataError, UsageError):
            summary = plan(RunSpec(scenario, registry.algorithm(algorithm), 0))
            ended.append(summary.ended_by)
            assert name in COUNTED or 5 * summary.updates < scenario.budget.updates
    assert set(ended) <= ({"time", "updates"} if name in COUNTED else {"time"})
    assert len(ended) >= (20 if scenario.at_work is None else 10) or missing(scenario.task.name) or lacks_traces(scenario)


def test_budgets_of_tables_that_count_updates() -> None:
    assert {name: load(name).budget.updates for name in names() if load(name).budget.updates <= 1000} == COUNTED


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("defedavg-cifar10-iid", 878_538),
        ("defedavg-cifar10-two-class", 878_538),
        ("fedagrac-cifar10-step-async", 7_212_874),
        ("fedecho-cifar10-large-delay", 11_173_962),
        ("fedecho-cifar10-mild-delay", 11_173_962),
        ("fedecho-cifar100-large-delay", 11_220_132),
        ("fedecho-cifar100-mild-delay", 11_220_132),
    ],
)
def test_models_on_cifar_have_the_papers_sizes(name: str, parameters: int) -> None:
    task = load(name).task
    known = outline(task.name, task.model)
    assert known is not None
    assert known.model.dim == parameters


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize("name", WITHOUT_DATA)
def test_what_does_not_depend_on_labels_is_planned_without_data(name: str) -> None:
    """Of every kind of policy; full gradients, as FedaGrac's, depend on how many examples a client
    has."""
    scenario = load(name, ["budget.seconds=60"])
    for algorithm in ("fedavg", "fedbuff", "defedavg_iid", "defedavg_niid", "scaffold"):
        assert plan(RunSpec(scenario, registry.algorithm(algorithm), 0)).updates > 0
    with pytest.raises(MissingDataError, match="data set cifar10: not on this machine"):
        plan(RunSpec(scenario, registry.algorithm("fedagrac"), 0))


@pytest.mark.usefixtures("no_data")
def test_a_cell_of_a_papers_table_is_priced_without_data() -> None:
    """210.8 jobs a second: 100 clients whose cycles are 0.157 a + 0.0706 s, a ~ U(1, 5); ten a
    round."""
    summary = plan(RunSpec(load("defedavg-cifar10-iid"), registry.algorithm("defedavg_iid[preset=defedavg-cifar10-iid-n10]"), 0))
    assert summary.ended_by == "time"
    assert summary.updates == pytest.approx(1400 * 21.08, rel=0.05)
    assert summary.trained_steps == 500 * summary.updates


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize("name", [name for name in COUNTED if name.startswith("fedecho-cifar")])
def test_epochs_and_delays_by_size_need_the_data(name: str) -> None:
    """Which the error says; with steps, and delays that have nothing to do with sizes, there is a
    plan."""
    task, selector = load(name).task.name, f"fedecho[preset=fedecho-{load(name).task.name}]"
    with pytest.raises(MissingDataError, match=f"data set {task}: not on this machine"):
        plan(RunSpec(load(name), registry.algorithm(selector), 0))
    free = load(name, ["local={steps: 40, batch_size: 50}", "compute.assignment={kind: fadas}"])
    summary = plan(RunSpec(free, registry.algorithm(selector), 0))
    assert (summary.ended_by, summary.updates) == ("updates", COUNTED[name])


@pytest.mark.parametrize("name", ["digits-demo", "digits-flaky"])
def test_our_own_scenarios_price_what_is_sent(name: str) -> None:
    """A message of one model takes 20 ms; one of two takes twice as long."""
    assert load(name).network.message == "payload"
    one, two = (Setup(RunSpec(load(name), registry.algorithm(a), 0)).timing() for a in ("fedavg", "scaffold"))
    assert one.download.a == one.upload.a == pytest.approx(0.020, rel=1e-3)
    assert two.download.a == two.upload.a == pytest.approx(2 * float(one.download.a))


def test_fixed_prices_are_a_papers() -> None:
    assert {name for name in names() if load(name).network.message == "fixed"} == {
        "defedavg-cifar10-iid",
        "defedavg-cifar10-two-class",
        "defedavg-fashion-iid",
        "defedavg-fashion-two-class",
    }
