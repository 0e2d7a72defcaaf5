"""Presets: papers' options by name, in selectors, `info` and `list`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fedbench import registry
from fedbench.bibliography import PAPERS
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.presets import covering, options, presets
from fedbench.scenarios.load import load
from tests.cli.commands import fedbench


def jsons(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("name", "algorithm"), [(one.name, algorithm) for one in presets().values() for algorithm in one.algorithms]
)
def test_every_preset_makes_its_algorithms(name: str, algorithm: str) -> None:
    made = registry.algorithm(f"{algorithm}[preset={name}]")
    assert made.name == algorithm
    assert {option: made.options()[option] for option in options(name, algorithm)} == options(name, algorithm)


def test_presets_cite_papers() -> None:
    for one in presets().values():
        assert one.about.endswith(".")
        assert all(cited.key in PAPERS and cited.place for cited in one.source), one.name


@pytest.mark.parametrize(
    ("selector", "values"),
    [
        ("fedbuff[preset=defedavg-fashion-two-class-n10]", {"buffer_size": 10, "server_lr": 0.1, "local_lr": 0.005}),
        (
            "fedavg[preset=defedavg-fashion-iid-n10]",
            {"cohort_size": 10, "server_lr": 1.0, "local_lr": 0.1, "sampling": "with_replacement"},
        ),
        ("defedavg_iid[preset=defedavg-cifar10-iid-n20]", {"cohort_size": 20, "server_lr": 0.1, "local_lr": 0.01}),
        ("defedavg-niid[preset=defedavg-cifar10-two-class-n20]", {"cohort_size": 20, "server_lr": 0.1, "local_lr": 0.1}),
        ("fedecho[preset=fedecho-cifar100]", {"buffer_size": 5, "concurrency": 25, "local_lr": 0.03, "distill_lr": 3e-6}),
        ("ca2fl[preset=fedecho-cifar100]", {"local_lr": 0.003, "server_lr": 1.0, "weight_decay": 1e-4}),
        ("fedecho[preset=fedecho-mrpc]", {"optimizer": "adamw", "local_lr": 3e-5, "distill_lr": 3e-7, "buffer_size": 3}),
        ("fadas[preset=fadas-cifar10-delay-adaptive]", {"server_lr": 1e-3, "delay_adaptive": True}),
        ("fedagrac[preset=fedagrac-a9a-logistic]", {"calibration_rate": 1.0, "local_lr": 0.005}),
    ],
)
def test_values_of_the_papers(selector: str, values: dict[str, object]) -> None:
    made = registry.algorithm(selector).options()
    assert {name: made[name] for name in values} == values


@pytest.mark.parametrize("order", ["preset=fedecho-cifar10,local_lr=0.5", "local_lr=0.5,preset=fedecho-cifar10"])
def test_other_options_have_precedence(order: str) -> None:
    made = registry.algorithm(f"fedbuff[{order}]").options()
    assert (made["local_lr"], made["buffer_size"]) == (0.5, 5)


def test_a_run_is_its_resolved_options() -> None:
    """The same options written out are the same run."""
    written = "fedbuff[buffer_size=10,server_lr=0.1,local_lr=0.005]"
    runs = [
        RunSpec(load("digits-demo"), registry.algorithm(s), 0)
        for s in (written, "fedbuff[preset=defedavg-fashion-two-class-n10]")
    ]
    assert runs[0].run_id == runs[1].run_id
    assert runs[0].selector == runs[1].selector == "fedbuff[local_lr=0.005,server_lr=0.1]"


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (
            "fedbuff[preset=defedavg-fashion-two-class-n11]",
            "unknown preset 'defedavg-fashion-two-class-n11'; did you mean 'defedavg-",
        ),
        ("fedbuff[preset=7]", "unknown preset 7"),
        ("scaffold[preset=fedecho-mrpc]", "preset 'fedecho-mrpc' has no options for 'scaffold', .* presets for 'scaffold': none"),
        (
            "fadas[preset=defedavg-cifar10-iid-n5]",
            "only for defedavg_iid; presets for 'fadas': fedecho-cifar10, fedecho-cifar100, ",
        ),
    ],
)
def test_errors_name_what_there_is(selector: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        registry.algorithm(selector)


def test_info_and_list_show_them() -> None:
    listed = {row["name"]: row["about"] for row in jsons(fedbench("list", "presets", "--json").stdout)}
    assert set(listed) == set(presets())
    assert "For asysg, defedavg_iid, favano, fedavg: Wang et al. 2024 (DeFedAvg), Table 2." in listed["defedavg-fashion-iid-n10"]
    (facts,) = jsons(fedbench("info", "fadas", "--json").stdout)
    assert [one["name"] for one in facts["presets"]] == [one.name for one in covering("fadas")]
    assert facts["presets"][-1]["options"]["delay_adaptive"] is True
    shown = fedbench("info", "fedbuff", COLUMNS="220").stdout
    assert "presets: fedbuff[preset=NAME]" in shown
    assert "buffer_size: 10, local_lr: 0.005, server_lr: 0.1" in shown
    assert "presets" not in fedbench("info", "scaffold", COLUMNS="220").stdout
