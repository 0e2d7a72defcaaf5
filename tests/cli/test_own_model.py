"""`fedbench new model`, models of one's own in runs, and their records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fedbench.cli.new import check_name
from fedbench.cli.test import checks_of
from fedbench.errors import UsageError

from .commands import fedbench

pytestmark = pytest.mark.extra("torch")

SMALL = ["--set", "clients=6", "--set", "budget.seconds=1", "--set", "local.steps=1", "--set", "public.size=50"]


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    made = fedbench("new", "model", "small_net", "--directory", str(folder))
    assert made.returncode == 0, made.stderr
    assert f"fedbench test {folder}/small_net.py:SmallNet" in made.stdout
    return folder


@pytest.mark.slow
def test_what_new_writes_passes_as_it_stands(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_small_net.py"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert "2 passed" in result.stdout, result.stdout
    pytest.importorskip("ruff")
    checked = subprocess.run([sys.executable, "-m", "ruff", "check", "--isolated", "."], cwd=folder, check=False)
    assert checked.returncode == 0
    assert {one.status for one in checks_of(f"{folder}/small_net.py:SmallNet", "softmax", "fashion-mnist")[1]} == {"pass"}


@pytest.mark.slow
def test_a_run_says_where_its_model_is_from_and_is_verified(folder: Path) -> None:
    """In processes of their own too, and only if the user says where the file is."""
    setting = ["--set", "task.model=./small_net.py:SmallNet"]
    run = fedbench(
        "run", "digits-demo", "-a", "fedavg[cohort_size=3]", *SMALL, *setting, "--seeds", "2", "-j", "2", "--json", cwd=folder
    )
    assert run.returncode == 0, run.stderr
    record = json.loads(run.stdout.splitlines()[0])
    task = record["spec"]["scenario"]["task"]
    assert (task["model"], len(task["model_sha256"])) == ("./small_net.py:SmallNet", 64)
    assert record["provenance"]["trainer_reason"] == "model small_net.py:SmallNet: it is a SmallNet, and no plain nn.Sequential"
    assert fedbench("verify", record["record"], "-m", "./small_net.py:SmallNet", cwd=folder).returncode == 0
    refused = fedbench("verify", record["record"], cwd=folder)
    assert refused.returncode == 2
    assert (
        "no file is run because a record names it; say where it is with --model path/to/small_net.py:SmallNet" in refused.stderr
    )
    traced = fedbench("trace", record["record"], "-m", "./small_net.py:SmallNet", cwd=folder)
    assert traced.returncode == 0, traced.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lambda", "new model: 'lambda' is a word of Python"),
        ("numpy", "new model: 'numpy' is an installed module"),
        ("Net", "such as my_model, got 'Net'"),
    ],
)
def test_bad_names(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_name("model", name)


def test_an_algorithm_in_a_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import fedbench\nclass A(fedbench.Algorithm): name = 'a'\ndef make(): pass\n")
    assert checks_of(f"{tmp_path}/a.py:A", "softmax", "digits")[0] == "algorithm"
    assert checks_of(f"{tmp_path}/a.py:make", "softmax", "digits")[0] == "model"
    assert checks_of("no_such_module:Net", "softmax", "digits")[0] == "model"
    with pytest.raises(UsageError, match=r"a\.py has no class 'B'"):
        checks_of(f"{tmp_path}/a.py:B", "softmax", "digits")
