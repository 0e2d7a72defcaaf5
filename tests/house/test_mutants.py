"""The check of the tests can itself be trusted: survivors and outdated mutants are reported."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from fedbench.proof.theory.table import CLAIMS

from .mutants import CUSTOMIZE, ROOT, Mutant, check_unchanged, outdated, python_failure, read, theory_failure, verdicts

SOURCE = "def mean(values):\n    return sum(values) / len(values)\n"
TEST = "from fedbench import mean\n\n\ndef test_mean():\n    assert mean([3.0]) == 3.0\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A package of that name with one function and one test, which is too weak."""
    for name, text in (("fedbench/__init__.py", SOURCE), ("tests/test_mean.py", TEST), ("pyproject.toml", "[tool.pytest]\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def mutant(old: str, new: str) -> Mutant:
    return Mutant("mean", "fedbench/__init__.py", old, new, "planted", "tests/test_mean.py")


def test_what_is_killed_and_what_survives(copy: Path) -> None:
    killed, survivor = verdicts(copy, [mutant("sum(values) /", "-sum(values) /"), mutant("len(values)", "1")])
    assert killed.failed == "tests/test_mean.py::test_mean"
    assert str(killed).startswith("killed ")
    assert survivor.failed is None
    assert str(survivor).startswith("SURVIVED ")
    assert (copy / "fedbench/__init__.py").read_text() == SOURCE


@pytest.mark.parametrize(("old", "count"), [("average", 0), ("values", 3)])
def test_an_outdated_mutant_is_an_error(copy: Path, old: str, count: int) -> None:
    with pytest.raises(SystemExit, match=f"outdated: mean: its old text occurs {count} times in fedbench/__init__.py"):
        next(verdicts(copy, [mutant(old, "x")]))


def test_a_mutant_that_does_not_import_is_no_kill(copy: Path) -> None:
    (copy / "fedbench/__init__.py").write_text("def total(values):\n    return sum(values)\n")
    with pytest.raises(SystemExit, match="no verdict"):
        python_failure(copy, "tests/test_mean.py")


def test_tests_that_fail_without_a_mutant_are_an_error(copy: Path) -> None:
    with pytest.raises(SystemExit, match="test_mean fails without a mutant"):
        check_unchanged(copy, ["tests/test_mean.py"], lambda copy, tests: "test_mean")


THEORY = """
from fedbench import mean
from types import SimpleNamespace

def chosen(names):
    assert names == ["mean-exact"]
    return names

def rows(claims):
    measured = mean([1.0, 3.0])
    yield SimpleNamespace(name=claims[0]), SimpleNamespace(check="level", measured=measured, expected=2.0, holds=measured == 2.0)
"""


def test_a_mutant_of_the_theory_is_killed_by_its_claim_alone(copy: Path) -> None:
    room = copy / "fedbench/proof/theory"
    room.mkdir(parents=True)
    (room / "table.py").write_text(THEORY)
    planted = Mutant("mean", "fedbench/__init__.py", "len(values)", "1", "planted", theory="mean-exact")
    (killed,) = verdicts(copy, [planted])
    assert killed.failed == "mean-exact: level: 4, expected 2"
    assert theory_failure(copy, "mean-exact") is None
    (room / "table.py").write_text("chosen = rows = None")
    with pytest.raises(SystemExit, match="no verdict: theory mean-exact ended with 1"):
        theory_failure(copy, "mean-exact")


def test_it_is_the_copy_that_is_tested(copy: Path) -> None:
    (copy / "fedbench/__init__.py").unlink()
    (copy / "fedbench").rmdir()
    with pytest.raises(SystemExit, match=r"not from the copy|No module named 'fedbench'"):
        python_failure(copy, "tests/test_mean.py")


IN_A_PROCESS = """
import subprocess
import sys

def test_mean():
    command = [sys.executable, "-c", "from fedbench import mean; print(mean([1.0, 3.0]))"]
    assert subprocess.run(command, cwd="/", capture_output=True, text=True).stdout == "2.0\\n"
"""


def test_a_process_that_a_test_starts_elsewhere_imports_the_copy(copy: Path) -> None:
    (copy / "tests/test_mean.py").write_text(IN_A_PROCESS)
    assert python_failure(copy, "tests/test_mean.py") is None
    (killed,) = verdicts(copy, [mutant("len(values)", "1")])
    assert killed.failed == "tests/test_mean.py::test_mean"


def test_no_editable_installation_redirects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class RedirectingFinder:
        pass

    before = [finder for finder in sys.meta_path if "Redirect" not in type(finder).__name__]  # this environment may have one
    monkeypatch.setattr(sys, "meta_path", [RedirectingFinder(), *before])
    exec(CUSTOMIZE, {})
    assert sys.meta_path == before


def test_the_table_is_up_to_date() -> None:
    mutants = read()
    assert outdated(ROOT, mutants) == []
    for planted in mutants:
        assert planted.old != planted.new, planted.name
        assert planted.mistake, planted.name
        assert bool(planted.tests) != bool(planted.theory), f"{planted.name}: expected tests or theory, one of the two"
        for test in planted.tests.split():
            assert (ROOT / (f"csrc/tests/{test}.cpp" if planted.is_native else test.partition("::")[0])).is_file(), planted.name


def test_every_algorithm_has_a_mutant() -> None:
    mutated = {Path(planted.file).stem for planted in read() if planted.file.startswith("fedbench/algorithms/")}
    assert mutated >= {file.stem for file in (ROOT / "fedbench/algorithms").glob("*.py")} - {"__init__"}


def test_every_claim_of_the_theory_has_two_mutants() -> None:
    named = Counter(planted.theory for planted in read() if planted.theory)
    assert set(named) == set(CLAIMS)
    assert min(named.values()) >= 2
