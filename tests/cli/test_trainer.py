"""`fedbench run --trainer` and FEDBENCH_ISA, as real processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .commands import fedbench

SMALL = ["--set", "clients=6", "--set", "budget.updates=2", "--set", "local.steps=2", "--set", "task.model=softmax"]


def record_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_trainer_asked_for_computes(tmp_path: Path) -> None:
    """The record says so, and verify takes it again."""
    result = fedbench("run", "digits-demo", "-a", "fedavg[cohort_size=2]", *SMALL, "--trainer", "torch", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    made = record_of(result.stdout)
    assert (made["provenance"]["trainer"], made["provenance"]["trainer_reason"]) == ("torch", "asked for")
    verified = fedbench("verify", made["record"], "--json", cwd=tmp_path)
    assert record_of(verified.stdout)["verdict"] == "identical"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["-a", "fedavg[cohort_size=2,momentum=0.9]", "--trainer", "native"],
            "rule uses momentum, which the native trainer does not take",
        ),
        (["-a", "fedavg[cohort_size=2]", "--trainer", "natve"], "unknown name 'natve'; did you mean 'native'?"),
    ],
)
def test_a_trainer_that_cannot_is_a_usage_error(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = fedbench("run", "digits-demo", *arguments, *SMALL, cwd=tmp_path)
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "runs/digits-demo").exists()


def test_the_environment_forces_an_instruction_set(tmp_path: Path) -> None:
    """It is in the record, and verify uses it again without the environment."""
    arguments = ("run", "digits-demo", "-a", "fedavg[cohort_size=2]", *SMALL, "--json")
    result = fedbench(*arguments, cwd=tmp_path, FEDBENCH_ISA="portable")
    assert result.returncode == 0, result.stderr
    made = record_of(result.stdout)
    provenance = made["provenance"]
    assert (provenance["instruction_set"], provenance["trainer"]) == ("portable", "native")
    assert provenance["trainer_reason"] == "it has all layers of model softmax and all terms of fedavg's local rule"
    verified = fedbench("verify", made["record"], "--json", cwd=tmp_path)
    assert record_of(verified.stdout)["verdict"] == "identical"


def test_an_unknown_instruction_set_is_a_usage_error(tmp_path: Path) -> None:
    result = fedbench("run", "digits-demo", "-a", "fedavg", cwd=tmp_path, FEDBENCH_ISA="sse")
    assert result.returncode == 2
    assert "FEDBENCH_ISA: expected one of portable" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "cuda"], "device cuda: not on this machine: torch"),
        (["--device", "cuda", "--trainer", "native"], "trainer native: it computes on the CPU, not on device cuda"),
        (["--device", "cdua"], "device: unknown name 'cdua'; did you mean 'cuda'?"),
    ],
)
def test_a_device_that_cannot_be_is_a_usage_error(arguments: list[str], message: str, tmp_path: Path) -> None:
    """Before anything is planned or stored."""
    command = ("run", "digits-demo", "-a", "fedavg", *SMALL, *arguments)
    result = fedbench(*command, cwd=tmp_path, CUDA_VISIBLE_DEVICES="")
    assert result.returncode == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "runs").exists()


def test_a_plan_for_a_device() -> None:
    result = fedbench("plan", "digits-demo", "-a", "fedavg[cohort_size=2]", *SMALL, "--device", "cuda", "--json")
    made = record_of(result.stdout)
    assert (made["trainer"], made["device"], made["trainer_reason"]) == ("torch", "cuda", "asked for device cuda")
