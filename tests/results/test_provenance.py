"""Where a number comes from: the commit that was run, the processor, the libraries."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from fedbench.results import provenance as module
from fedbench.results.provenance import LIBRARIES, commit, cpu, library_versions, provenance

CPUINFO = "processor\t: 0\nvendor_id\t: Maker\nmodel\t\t: 85\nmodel name\t: Fast CPU: 2.50GHz\nstepping\t: 7\n"
BUILD = {"version": "1.2.3", "compiler": "a compiler", "flags": "-O9", "instruction_set": "portable", "cuda": False}


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", "user.name=Nobody", "-c", "user.email=nobody@example.org", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, in which the module's file would lie; the process is
    elsewhere."""
    file = tmp_path / "checkout/fedbench/results/provenance.py"
    file.parent.mkdir(parents=True)
    file.write_text("one\n")
    root = tmp_path / "checkout"
    git(root, "init", "--quiet")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=one")
    monkeypatch.setattr(module, "__file__", str(file))
    monkeypatch.chdir(tmp_path)
    return root


def test_the_commit_of_the_checkout_and_whether_it_was_changed(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert len(head) == 40
    assert commit.__wrapped__() == (head, False)
    (checkout / "notes.txt").write_text("not of the package\n")
    assert commit.__wrapped__() == (head, False)
    (checkout / "fedbench/results/provenance.py").write_text("two\n")
    assert commit.__wrapped__() == (head, True)


def test_no_commit_outside_a_checkout(checkout: Path) -> None:
    """Also not that of a repository above, as where an environment lies in somebody's project."""
    (checkout / ".git").rename(checkout.parent / ".git")
    assert commit.__wrapped__() == (None, None)


def test_a_checkout_without_a_commit_or_git_has_none(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert commit.__wrapped__() == (None, None)


def test_the_processors_name_and_not_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _, encoding: CPUINFO)
    assert cpu.__wrapped__() == "Fast CPU: 2.50GHz"


def test_where_the_processor_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_there(_: Path, encoding: str) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", nothing_there)
    assert cpu.__wrapped__() == (platform.processor() or platform.machine())


def test_the_libraries_that_numbers_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"numpy", "torch"} <= set(LIBRARIES)
    found = library_versions()
    assert found == {name: version(name) for name in found}
    assert "numpy" in found
    monkeypatch.setattr(module, "LIBRARIES", ("numpy", "no-such-library"))
    assert list(library_versions.__wrapped__()) == ["numpy"]


def test_what_a_record_has_of_it() -> None:
    made = provenance(BUILD, trainer="native", workers=3)
    head, dirty = commit()
    assert {name: made[name] for name in ("version", "compiler", "flags", "instruction_set")} == {
        name: BUILD[name] for name in ("version", "compiler", "flags", "instruction_set")
    }
    assert (made["commit"], made["dirty"], made["cpu"]) == (head, dirty, cpu())
    assert (made["python"], made["libraries"]) == (platform.python_version(), library_versions())
    assert (made["trainer"], made["workers"]) == ("native", 3)
