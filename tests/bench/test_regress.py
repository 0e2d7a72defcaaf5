"""Two builds beside each other: a planted slowdown is found, nothing stays behind."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
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
    assert sample["passed"] > 0
    assert sample["worked"] > 0
    assert "did you mean 'sum10-11m'" in unknown["error"]


def test_a_worker_process_runs_this_tree_s_cases() -> None:
    with Worker(HERE) as worker:
        assert worker.prepare("queue-hold-100", small=True) == ""
        assert min(worker.sample()) > 0
        with pytest.raises(FedbenchError, match="unknown case 'nobody'"):
            worker.prepare("nobody", small=True)


def test_a_worker_that_ends_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with Worker(program) as worker, pytest.raises(FedbenchError, match="the process ended with 3"):
        worker.sample()


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


@pytest.mark.parametrize("first", ["slower", "faster"])
@pytest.mark.parametrize("then", ["slower", "faster", "same"])
def test_a_change_is_one_that_is_found_twice(first: Any, then: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Change("c", first, 2.0, 1.9, 2.1), Change("c", then, 1.0, 0.9, 1.1)]
    rounds: list[int] = []

    def measured(case: Any, pythons: Any, count: int, *_: Any) -> Change:
        rounds.append(count)
        return found[len(rounds) - 1]

    monkeypatch.setattr(regress, "_measure", measured)
    change = regress.change(CASES["sum10-11m"], (HERE, HERE), 5, 1.3)
    assert (change.slowdown, rounds) == (1.0, [5, 10])
    assert (change.verdict, change.note) == ((first, "") if then == first else ("same", f"seemed {first} once"))


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
    assert f"slower by more than 1.15: {'sum10-11m' if code else 'none'}" in capsys.readouterr().out


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


def sampled(monkeypatch: pytest.MonkeyPatch, *samples: tuple[float, float]) -> Change:
    """Returns the change between a base whose calls take a second, by both clocks, and a head that
    has these samples in turn."""

    class Sampled:
        def __init__(self, python: Path) -> None:
            self.left = itertools.cycle(samples if python.name == "head" else [(1.0, 1.0)])

        def prepare(self, case: str, *, small: bool) -> str:
            return ""

        def sample(self) -> tuple[float, float]:
            return next(self.left)

        def __enter__(self) -> Sampled:
            return self

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(regress, "Worker", Sampled)
    return regress.change(CASES["sum10-11m"], (Path("base"), Path("head")), 5, regress.WATCHED)


@pytest.mark.parametrize(
    ("passed", "worked", "verdict", "note"),
    [
        (1.0, 1.3, "slower", ""),  # hidden by a second core
        (1.25, 1.0, "same", ""),  # a busy machine
        (2.0, 1.0, "slower", "in the time that passes"),  # waits, or has lost its second worker
        (1.0, 1.1, "same", ""),
        (1.0, 0.8, "faster", ""),
    ],
)
def test_what_processors_work_counts_and_waiting_only_if_it_is_long(
    passed: float, worked: float, verdict: str, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = sampled(monkeypatch, (passed, worked))
    assert (change.verdict, change.note) == (verdict, note)


def test_the_time_that_passes_must_be_longer_in_three_quarters_of_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = [(passed, 1.0) for passed in (1.2, 1.2, 4.0, 4.0, 4.0)]
    assert sampled(monkeypatch, *busy).verdict == "same"


def test_the_fastest_process_of_each_build_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regress, "PROCESSES", 1)
    slow = sampled(monkeypatch, (1.5, 1.5))
    assert slow.verdict == "slower"
    pair, calm = np.full((2, 5, 2), 1.0), np.full((2, 5, 2), 1.0)
    pair[1] = 1.5
    found = regress._change("case", [(pair[0], pair[1]), (calm[0], calm[1])], "worked", regress.WATCHED)
    assert (found.verdict, found.slowdown) == ("same", 1.0)


def test_one_sample_of_many_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = (1.0, 1.0)
    assert sampled(monkeypatch, *[calm] * 4, (9.0, 9.0)).verdict == "same"


SLOWER = """
import functools, time
def _slower(work):
    @functools.wraps(work)
    def slowed(*given, **named):
        begin = time.process_time()
        found = work(*given, **named)
        end = time.process_time() + 0.3 * (time.process_time() - begin)
        while time.process_time() < end: pass
        return found
    return slowed
"""
PLANTED = {
    "distill-64x30000": ("kernels/distill.py", "distill_gradient"),
    "run-fedavg-softmax-100-rounds": ("engine/run.py", "record"),
}
UNTOUCHED = ("queue-hold-1000", "train-softmax-784x10-b25")  # in the same build
ITSELF = "run-fedavg-1000-clients-50-rounds"  # of which the build has every run slower, so two processes of this one
TRIALS = int(os.environ.get("FEDBENCH_TRIALS", "2"))


def plant(tree: Path, file: str, name: str) -> int:
    """Makes a function of the package work 1.3 times as long, and returns how many of that name
    there are in the file."""
    path = tree / "fedbench" / file
    module = ast.parse(path.read_text())
    found = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name == name]
    for node in found:
        node.decorator_list.append(ast.Name("_slower", ast.Load()))
    start = 1 + max(i for i, node in enumerate(module.body) if isinstance(node, ast.ImportFrom) and node.module == "__future__")
    module.body[start:start] = ast.parse(SLOWER).body
    path.write_text(ast.unparse(ast.fix_missing_locations(module)))
    return len(found)


def test_the_slowdowns_can_be_planted(tmp_path: Path) -> None:
    """The slow test below would notice it too, but it runs at night only."""
    for file, name in PLANTED.values():
        (tmp_path / "fedbench" / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(regress.ROOT / "fedbench" / file, tmp_path / "fedbench" / file)
        assert plant(tmp_path, file, name) == 1
        assert plant(tmp_path, file, "nobody") == 0


def watch(name: str, pair: tuple[Path, Path]) -> Change:
    """Returns the change of a case, of a whole run in its small size."""
    return regress.change(CASES[name], pair, 15, regress.WATCHED, small=CASES[name].group == "run")


@pytest.mark.slow
def test_a_planted_slowdown_is_found_in_a_build_of_its_own(tmp_path: Path) -> None:
    """A clone in which a kernel and a whole run work 1.3 times as long, and cases that do not touch
    what was planted. FEDBENCH_TRIALS=20 makes the trials that CONTRIBUTING.md tells of."""
    if not (regress.ROOT / ".git").exists():
        pytest.skip("not a checkout")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--shared", str(regress.ROOT), str(clone))
    for file, name in PLANTED.values():
        assert plant(clone, file, name) == 1
    git(clone, "commit", "--quiet", "--all", "-m", "slower")
    with regress.build("HEAD", clone) as slow:
        pairs = dict.fromkeys((*PLANTED, *UNTOUCHED), (HERE, slow)) | {ITSELF: (HERE, HERE)}
        found = [watch(name, pair) for _ in range(TRIALS) for name, pair in pairs.items()]
    print(*(f"{one.case}: {one.verdict} {one.slowdown} {one.low}-{one.high} {one.note}" for one in found), sep="\n")
    assert {(one.case, one.verdict) for one in found} == {(n, "slower" if n in PLANTED else "same") for n in pairs}
    assert len(git(clone, "worktree", "list").splitlines()) == 1
    assert not slow.exists()
