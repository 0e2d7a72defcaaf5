"""`fedbench doctor`: what it finds, what it says to do, and that it names nobody."""

from __future__ import annotations

import getpass
import json
import platform
import sys
from pathlib import Path
from typing import Any

import pytest

from fedbench import extras
from fedbench.cli import examination, facts
from fedbench.kernels import build

from .commands import fedbench

CHECKS = {
    "python", "names", "extras", "extension", "instruction set", "processor", "memory", "clock", "allocator", "environment", "data digits",
    "data fashion_mnist", "data shakespeare", "data more", "data decoded", "store", "torch", "gpu",
}  # fmt: skip


def findings(text: str) -> dict[str, dict[str, Any]]:
    return {row["check"]: row for row in map(json.loads, text.splitlines())}


def test_a_healthy_machine(tmp_path: Path) -> None:
    result = fedbench("doctor", "--json", cwd=tmp_path)
    found = findings(result.stdout)
    assert result.returncode == 0, result.stdout
    assert set(found) == CHECKS
    assert all(set(row) == {"check", "value", "status", "advice"} for row in found.values())
    assert all((row["status"] == "ok") == (row["advice"] == "") for row in found.values())
    assert list(found)[-2:] == ["torch", "gpu"]
    assert platform.node() not in result.stdout or len(platform.node()) < 4
    assert str(tmp_path) not in result.stdout
    assert f"/{getpass.getuser()}/" not in result.stdout


def test_warnings_and_problems_say_what_to_do(tmp_path: Path) -> None:
    warned = fedbench(
        "doctor", "--json", cwd=tmp_path, FEDBENCH_ISA="portable", FEDBENCH_STOR="x", FEDBENCH_DATA=str(tmp_path / "secret")
    )
    found = findings(warned.stdout)
    assert warned.returncode == 0
    assert "did you mean 'FEDBENCH_STORE'?" in found["environment"]["advice"]
    if "avx2" in found["instruction set"]["value"]:
        assert found["instruction set"]["status"] == "warning"
    assert "secret" not in warned.stdout
    broken = fedbench("doctor", cwd=tmp_path, FEDBENCH_ISA="neon")
    assert broken.returncode == 1
    assert "problem  extension" in broken.stdout
    assert "-> unset FEDBENCH_ISA" in broken.stdout


def test_an_extension_of_another_version_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    info = build.build_info()
    monkeypatch.setattr(build, "build_info", lambda: info | {"version": "0.0.1"})
    finding = examination._extension()
    assert (finding.status, "extension 0.0.1" in finding.value) == ("problem", True)
    monkeypatch.setattr(build, "build_info", lambda: info | {"ndebug": False})
    assert examination._extension().status == "warning"


@pytest.mark.parametrize(
    ("capability", "built", "torchs", "driver", "status", "told"),
    [
        (None, False, "13.0", False, "ok", "none that torch sees, kernels not built"),
        (None, ["sm_80", "sm_90"], None, False, "ok", "none that torch sees, kernels for sm_80, sm_90"),
        (None, False, None, True, "warning", "torch is built without CUDA: install one with it"),
        ((9, 0), ["sm_80", "sm_90"], "13.0", True, "ok", "A card, sm_90, kernels for sm_80, sm_90"),
        ((8, 6), ["sm_80", "sm_90"], "13.0", True, "ok", "A card, sm_86, kernels for sm_80, sm_90"),
        ((10, 0), ["sm_80", "sm_90"], "13.0", True, "ok", "A card, sm_100, kernels for sm_80, sm_90"),
        ((9, 0), False, "13.0", True, "warning", "install again with --config-settings=cmake.define.FEDBENCH_CUDA=ON"),
        ((7, 5), ["sm_80", "sm_90"], "13.0", True, "warning", "cmake.define.CMAKE_CUDA_ARCHITECTURES=75"),
    ],
)
def test_the_gpu_and_the_kernels_for_it(
    capability: Any,
    built: Any,
    torchs: Any,
    driver: bool,
    status: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(build, "cuda_architectures", lambda: built)
    monkeypatch.setattr(torch.version, "cuda", torchs)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: capability is not None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "A card")
    monkeypatch.setattr(facts, "DRIVER", tmp_path if driver else tmp_path / "none")
    found = facts.gpu()
    assert found.status == status
    assert told in f"{found.value} {found.advice}"


def test_a_gpu_is_not_looked_for_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert facts.gpu().value.startswith("not looked for without torch, kernels ")


def installed(folder: Path, name: str, record: str = "", scripts: str = "") -> None:
    """What an installer leaves of a package."""
    place = folder / f"{name.replace('-', '_')}-0.1.3.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.3\n")
    (place / "RECORD").write_text(record)
    for file in (folder / line.partition(",")[0] for line in record.splitlines()):
        file.parent.mkdir(parents=True)
        file.touch()
    (place / "entry_points.txt").write_text(f"[console_scripts]\n{scripts}\n")


@pytest.mark.parametrize(
    ("name", "record", "scripts", "found"),
    [
        ("fedbench", "fedbench/algorithms/__init__.py,,\n", "", "fedbench 0.1.3 has files of the package fedbench"),
        ("fed-playground", "fedplay/x.py,,\n", "fedbench = fedplay:main", "fed-playground 0.1.3 has a command fedbench"),
        ("both", "fedbench/x.py,,\n", "fedbench = x:main", "both 0.1.3 has files of the package fedbench and a command fedbench"),
        ("fedbench-plugin", "fedbench_plugin/fedbench/x.py,,\n", "fedbench-plugin = x:main", ""),
        ("fedbench_suite", "fedbench/x.py,,\n", "fedbench = fedbench.cli.main:main", ""),
    ],
)
def test_packages_of_others_with_our_names(
    name: str, record: str, scripts: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, name, record, scripts)
    monkeypatch.syspath_prepend(str(tmp_path))
    fact = examination._names()
    assert (fact.status, found in fact.value) == ("problem" if found else "ok", True)
    assert not found or fact.advice == f"python -m pip uninstall {name}, then install fedbench-suite again"


def test_extras_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    packages = {"ray": ("nowhere",), "plot": ("numpy",), "text": ("numpy", "gone", "lost")}
    monkeypatch.setattr(extras, "EXTRAS", {name: extras.EXTRAS[name]._replace(packages=own) for name, own in packages.items()})
    fact = examination._extras()
    assert (fact.status, fact.value) == ("warning", "ray lacks nowhere, plot complete, text lacks gone and lost")
    assert fact.advice.startswith("if you need them (ray for runs on a Ray cluster, text for text tasks): ")
    assert fact.advice.endswith(extras.install("ray", "text"))


def test_torch_is_no_must(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    fact = examination._torch()
    assert (fact.status, fact.value) == ("ok", "not installed; the native trainer needs none")


def test_missing_data_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("fedbench.tasks.fashion_mnist.DEBIAN", tmp_path / "none")
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    finding = examination._fashion()
    assert finding.status == "warning"
    assert finding.value.startswith("not in $FEDBENCH_DATA/none or $FEDBENCH_DATA/FashionMNIST/raw")


def test_plays_come_with_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedbench.tasks.shakespeare.PACKAGE", "no-such-package")
    finding = examination._plays()
    assert (finding.status, extras.install("text") in finding.advice) == ("warning", True)


def test_more_data_are_found_where_they_belong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    for name in ("a9a", "a9a.t"):
        (tmp_path / "a9a").mkdir(exist_ok=True)
        (tmp_path / "a9a" / name).touch()
    finding = examination._more_data()
    assert finding.value == "a9a in $FEDBENCH_DATA/a9a; not on this machine: cifar10, cifar10_jpeg, cifar100, stl10, mrpc, sst2"
    assert (finding.status, "fedbench info cifar10" in finding.advice) == ("warning", True)


def test_a_check_that_fails_is_a_problem_not_a_crash() -> None:
    def _strange() -> examination.Fact:
        raise RuntimeError(f"cannot see {Path.home()}/x")

    finding = examination._guarded(_strange)
    assert (finding.check, finding.status, finding.value) == ("strange", "problem", "RuntimeError: cannot see ~/x")
