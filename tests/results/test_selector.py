"""The selector of a record, which names today what was a default at the time of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedbench import registry
from fedbench.results import archive
from fedbench.results.record import selector
from fedbench.results.sections import Spec
from fedbench.scenarios.load import load

ARCHIVES = Path(__file__).resolve().parents[2] / "results" / "suites"


def spec(written: str, options: dict[str, Any], **algorithm: Any) -> Spec:
    used = {"name": written.partition("[")[0], "options": options, **algorithm}
    scenario = load("digits-demo")
    sections = {"scenario": scenario, "scenario_hash": scenario.content_hash(), "seed": 0}
    return Spec.model_validate({**sections, "selector": written, "algorithm": used})


@pytest.mark.parametrize(
    ("written", "options", "expected"),
    [
        ("defedavg_iid", {"server_lr": 0.1, "cohort_size": 10}, "defedavg_iid"),
        ("defedavg_iid", {"server_lr": 1.0, "cohort_size": 10}, "defedavg_iid[server_lr=1.0]"),
        ("fadas[concurrency=10]", {"server_lr": 1e-4, "concurrency": 10}, "fadas[concurrency=10,server_lr=0.0001]"),
        ("fedbuff[buffer_size=10]", {"buffer_size": 10}, "fedbuff"),
        ("fedbuff[buffer_size=5]", {"buffer_size": 10}, "fedbuff[buffer_size=5]"),
        ("mifa", {"start": "warm", "sampling": "without_replacement"}, "mifa[sampling=without_replacement,start=warm]"),
        ("fedavg[", {"local_lr": 9.0}, "fedavg["),
        ("fedavg", {"gone": 1}, "fedavg"),
        ("mine", {"local_lr": 9.0}, "mine"),
    ],
)
def test_it_describes_the_run_by_the_defaults_of_today(written: str, options: dict[str, Any], expected: str) -> None:
    """An option that an algorithm has no more, and one of an unknown algorithm, are left out."""
    assert selector(spec(written, options)) == expected


def test_an_algorithm_of_a_file_keeps_its_own() -> None:
    assert selector(spec("fedavg", {"local_lr": 9.0}, origin={"kind": "object", "class": "Mine"})) == "fedavg"


def test_equal_options_have_one_name() -> None:
    """Whatever had to be named at the time of the run."""
    options = registry.algorithm("defedavg_iid").options()
    assert {selector(spec(written, options)) for written in ("defedavg_iid", "defedavg_iid[server_lr=0.1]")} == {"defedavg_iid"}


def test_committed_runs_can_be_run_again_by_their_selectors() -> None:
    """Every selector of an archive makes an algorithm with the options of its record."""
    for record in archive.read(ARCHIVES / "beyond", check=False):
        algorithm = record.spec.algorithm
        again = registry.algorithm(record.selector).options()
        assert {key: again[key] for key in algorithm.options} == algorithm.options
