"""`fedbench new task`, and what its test and its scenario then do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fedbench.cli.new import check_name
from fedbench.errors import UsageError

from .commands import fedbench

FEDAVG = "fedavg[cohort_size=4]"


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("new")
    made = fedbench("new", "task", "petals", "--directory", str(folder))
    assert made.returncode == 0, made.stderr
    assert "petals.yaml" in made.stdout
    return folder


def python(folder: Path, *arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=True).stdout


def test_what_new_writes_passes_as_it_stands(folder: Path) -> None:
    assert "2 passed" in python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_petals.py")
    pytest.importorskip("ruff")
    python(folder, "-m", "ruff", "check", "--isolated", "petals.py")


def test_a_record_of_it_is_verified_where_the_file_is(folder: Path, tmp_path: Path) -> None:
    before = fedbench("plan", str(folder / "petals.yaml"), "-a", FEDAVG)
    assert (before.returncode, "task.file petals.npz: not on this machine" in before.stderr) == (2, True)
    python(folder, "petals.py")
    store = tmp_path / "runs"
    ran = fedbench("run", str(folder / "petals.yaml"), "-a", FEDAVG, "--store", str(store))
    assert ran.returncode == 0, ran.stderr
    (record,) = store.glob("petals/fedavg/*")
    assert fedbench("verify", str(record)).returncode == 0
    task = json.loads((record / "record.json").read_text())["spec"]["scenario"]["task"]
    assert (task["name"], task["label"], task["client"], len(task["sha256"])) == ("file:petals", "label", "client", 1)
    (folder / "petals.npz").write_bytes((folder / "petals.npz").read_bytes() + b"x")
    changed = fedbench("verify", str(record))
    assert changed.returncode != 0
    assert "its sha256 must be " in changed.stderr + changed.stdout


def test_names() -> None:
    with pytest.raises(UsageError, match="new task: 'a9_a' is taken by 'a9a', see `fedbench info a9a`"):
        check_name("task", "a9_a")
    with pytest.raises(UsageError, match="such as my_task, got 'My-data'"):
        check_name("task", "My-data")
