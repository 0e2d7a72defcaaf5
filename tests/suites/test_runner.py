"""Runs in processes of their own: what goes wrong there is said in words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

import fedbench as fb
from fedbench.engine.run import Run, RunOptions
from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.sources import described, is_own
from fedbench.suites.runner import _manager

SCRIPT = """
import fedbench as fb
small = ["clients=6", "budget.seconds=1", "local.steps=1", "task.model=softmax"]
"""
RUN = 'print(len(fb.run("digits-demo", ["fedavg[cohort_size=2]", "fedbuff[buffer_size=2]"], jobs=2, overrides=small)))'
OWN = """
class Mine(fb.Algorithm):
    name = "mine"
fb.run("digits-demo", [Mine(), Mine(local_lr=1)], jobs=2, overrides=small)
"""


def python(*arguments: str, stdin: str | None = None, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, input=stdin, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_without_a_guard(tmp_path: Path) -> None:
    """One error, with what to write; nothing of the processes that could not start."""
    (tmp_path / "script.py").write_text(SCRIPT + RUN)
    result = python("script.py", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.count("Traceback") == 1
    assert 'must stand under a guard:\n\n    if __name__ == "__main__":\n        fb.run(..)' in result.stderr


@pytest.mark.slow
def test_with_a_guard(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f'{SCRIPT}if __name__ == "__main__":\n    {RUN}\n')
    result = python("script.py", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "2\n"), result.stderr


def test_a_class_that_no_other_process_finds(tmp_path: Path) -> None:
    result = python("-c", SCRIPT + OWN, cwd=tmp_path)
    assert "class Mine of algorithm mine is defined in this notebook or prompt" in result.stderr


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_plugin_that_fails_names_its_line(jobs: str, tmp_path: Path) -> None:
    """Also from another process, to which frames do not travel."""
    fedbench = ["-c", "from fedbench.cli.main import main; main()"]
    assert python(*fedbench, "new", "algorithm", "broken", cwd=tmp_path).returncode == 0
    file = tmp_path / "broken.py"
    file.write_text(file.read_text().replace("        a = self", "        1 / 0\n        a = self"))
    number = file.read_text().splitlines().index("        1 / 0") + 1
    small = ["--set", "clients=6", "--set", "budget.seconds=1", "--set", "task.model=softmax"]
    command = ["run", "digits-demo", "-a", "./broken.py:Broken[buffer_size=2]", *small, "--seeds", "2", "-j", jobs]
    result = python(*fedbench, *command, cwd=tmp_path)
    assert result.returncode == 1
    assert f"broken.py, line {number}, in step: ZeroDivisionError: division by zero\n    1 / 0\n" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_stored_record_is_taken_only_when_resuming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []

    class Counted(Run):
        def record(self) -> Record:
            computed.append(self.options.resume)
            return super().record()

    monkeypatch.setattr("fedbench.suites.runner.Run", Counted)
    small = ["clients=6", "budget.seconds=1", "local.steps=1", "task.model=softmax"]
    for resume in (False, False, True):
        fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=small, store=tmp_path, options=RunOptions(resume=resume))
    assert computed == [False, False]


def test_a_process_that_cannot_start() -> None:
    """What a manager raises whose process ended while it imported the main program."""

    class Context:
        def Manager(self) -> NoReturn:
            raise EOFError

    with pytest.raises(UsageError, match="jobs=3 starts processes that import this program again"):
        _manager(Context(), 3)  # type: ignore[arg-type]


def test_the_line_of_a_file(tmp_path: Path) -> None:
    """The last line of the file itself, though a kernel raised the error."""
    (tmp_path / "mine.py").write_text(
        "import fedbench as fb\nfrom fedbench.types import Rounds\n\n\nclass Mine(fb.Algorithm):\n    name = 'mine'\n\n"
        "    def dispatch(self, info):\n        return Rounds(select='all')\n\n    def step(self, state, batch, tools):\n"
        "        state.x = fb.kernels.weighted_sum([1.0], batch.delta)\n"
    )
    with pytest.raises(ValueError, match="weights") as caught:
        fb.run("digits-demo", f"{tmp_path / 'mine.py'}:Mine", overrides=["budget.updates=1", "task.model=softmax"])
    first, code = described(caught.value).splitlines()
    assert first.startswith(f"{tmp_path / 'mine.py'}, line 12, in step: ValueError: ")
    assert code == "    state.x = fb.kernels.weighted_sum([1.0], batch.delta)"
    assert is_own(caught.value)
    assert not is_own(ValueError())
