"""Two builds beside each other: a planted slowdown is found, nothing stays behind."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fedbench.bench import CASES, regress
from fedbench.bench.compare import Change
from fedbench.bench.worker import Worker, serve
from fedbench.errors import FedbenchError, UsageError

HERE = Path(sys.executable)


def answers(*requests: dict[str, Any]) -> list[dict[str, Any]]:
    text = io.StringIO()
    serve(io.StringIO("".join(json.dumps(request) + "\n" for request in requests)), text)
    return [json.loads(line) for line in text.getvalue().splitlines()]


def test_a_worker_answers_line_by_line() -> None:
    prepared, sample, unknown = answers({"prepare": "sum10-11m", "small": True}, {"sample": True}, {"prepare": "sum10"})
    assert prepared == {"skipped": ""}
    assert sample["seconds"] > 0
    assert "did you mean 'sum10-11m'" in unknown["error"]


def test_a_worker_process_runs_this_tree_s_cases() -> None:
    with Worker(HERE) as worker:
        assert worker.ask(prepare="queue-hold-100", small=True) == {"skipped": ""}
        assert worker.ask(sample=True)["seconds"] > 0
        with pytest.raises(FedbenchError, match="unknown case 'nobody'"):
            worker.ask(prepare="nobody", small=True)


def test_a_worker_that_ends_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with Worker(program) as worker, pytest.raises(FedbenchError, match="the process ended with 3"):
        worker.ask(sample=True)


def test_a_base_that_cannot_run_a_case_is_not_comparable_a_head_that_cannot_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    case = CASES["queue-hold-100"]
    change = regress.change(case, (program, HERE), 3, 1.3, small=True)
    assert change.verdict == "not comparable"
    assert change.note.startswith("before: worker of ")
    with pytest.raises(FedbenchError, match="the process ended with 3"):
        regress.change(case, (HERE, program), 3, 1.3, small=True)


def test_what_was_slow_once_is_not_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Change("c", "slower", 2.0, 1.9, 2.1), Change("c", "same", 1.0, 0.9, 1.1)]
    rounds: list[int] = []

    def measured(case: Any, pythons: Any, count: int, *_: Any) -> Change:
        rounds.append(count)
        return found[len(rounds) - 1]

    monkeypatch.setattr(regress, "_measure", measured)
    change = regress.change(CASES["sum10-11m"], (HERE, HERE), 5, 1.3)
    assert (change.verdict, change.slowdown, change.note, rounds) == ("same", 1.0, "seemed slower once", [5, 10])


@pytest.mark.parametrize(("verdict", "code"), [("same", 0), ("slower", 1)])
def test_exit_code_and_table(
    verdict: Any, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextlib.contextmanager
    def build(*_: object) -> Iterator[Path]:
        yield HERE

    monkeypatch.setattr(regress, "build", build)
    monkeypatch.setattr(regress, "change", lambda case, *_, **__: Change(case.name, verdict, 2.0, 1.9, 2.1))
    assert regress.main(["abc", "--case", "sum10-11m", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["verdict"] == verdict
    assert regress.main(["abc", "--case", "sum10-11m"]) == code
    assert f"slower by more than 1.3: {'sum10-11m' if code else 'none'}" in capsys.readouterr().out


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_used_wrongly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(tmp_path, "init", "--quiet")
    assert regress.main(["no-such-commit", "--repository", str(tmp_path)]) == 2
    assert "unknown commit 'no-such-commit'" in capsys.readouterr().err
    assert regress.main(["HEAD", "--case", "sum10-12m"]) == 2
    assert "did you mean 'sum10-11m'" in capsys.readouterr().err


def test_a_commit_that_cannot_be_built_leaves_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "pyproject.toml").write_text("broken")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "broken")
    with pytest.raises(FedbenchError, match="pip install"), regress.build("HEAD", tmp_path):
        pass
    assert len(git(tmp_path, "worktree", "list").splitlines()) == 1
    with pytest.raises(UsageError, match="unknown commit"), regress.build("HEAD~1", tmp_path):
        pass


class Twice(ast.NodeTransformer):
    """Replaces every call of a function of the core by two calls, of which the second one
    counts."""

    def __init__(self, name: str) -> None:
        self.name, self.planted = name, 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if ast.unparse(node.func) != f"_core.{self.name}":
            return node
        self.planted += 1
        return ast.Subscript(ast.Tuple([node, node], ast.Load()), ast.Constant(1), ast.Load())


def plant(tree: Path, name: str) -> int:
    """Makes the kernels of a tree call this function of the core twice, and returns in how many
    places they did."""
    twice = Twice(name)
    for file in sorted((tree / "fedbench/kernels").glob("*.py")):
        before = twice.planted
        planted = twice.visit(ast.parse(file.read_text()))
        if twice.planted > before:
            file.write_text(ast.unparse(ast.fix_missing_locations(planted)))
    return twice.planted


def test_the_slowdown_can_be_planted(tmp_path: Path) -> None:
    """The slow test below would notice it too, but it runs at night only."""
    shutil.copytree(regress.ROOT / "fedbench/kernels", tmp_path / "fedbench/kernels")
    assert plant(tmp_path, "weighted_sum") > 0
    assert plant(tmp_path, "nobody") == 0


@pytest.mark.slow
def test_a_planted_slowdown_is_found_in_a_build_of_its_own(tmp_path: Path) -> None:
    """A clone in which the weighted sum does its work twice: its case is slower, the queue's is
    not."""
    if not (regress.ROOT / ".git").exists():
        pytest.skip("not a checkout")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--shared", str(regress.ROOT), str(clone))
    assert plant(clone, "weighted_sum") > 0
    git(clone, "commit", "--quiet", "--all", "-m", "twice")
    with regress.build("HEAD", clone) as slow:
        found = {
            name: regress.change(CASES[name], (HERE, slow), rounds=11, threshold=1.3, small=True)
            for name in ("sum10-11m", "queue-curve-1000")
        }
    assert {name: change.verdict for name, change in found.items()} == {"sum10-11m": "slower", "queue-curve-1000": "same"}
    assert len(git(clone, "worktree", "list").splitlines()) == 1
    assert not slow.exists()
