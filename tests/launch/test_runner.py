"""Many runs, also in processes of their own: what goes wrong is said in words, and ends its own run
only."""

from __future__ import annotations

import fcntl
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import fedbench as fb
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.engine.run import Run, RunOptions
from fedbench.errors import ClientError, FedbenchError, PluginError, UsageError
from fedbench.foreign import described, is_foreign
from fedbench.launch.executors import Hear, Here, Work
from fedbench.launch.failures import RunsFailed
from fedbench.launch.progress import Lines
from fedbench.launch.runner import run_specs, specs
from fedbench.options import option
from fedbench.protocols import Tools
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.types import Batch, State

SCRIPT = """
import fedbench as fb
small = ["clients=6", "budget.seconds=1", "local.steps=1", "task.model=softmax"]
"""
RUN = 'print(len(fb.run("digits-demo", ["fedavg[cohort_size=2]", "fedbuff[buffer_size=2]"], processes=2, overrides=small)))'
OWN = """
class Mine(fb.Algorithm):
    name = "mine"
fb.run("digits-demo", [Mine(), Mine(local_lr=1)], processes=2, overrides=small)
"""


def python(*arguments: str, stdin: str | None = None, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, input=stdin, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


def test_without_a_guard(tmp_path: Path) -> None:
    """One error, with what to write; nothing of the processes that could not start."""
    (tmp_path / "script.py").write_text(SCRIPT + RUN)
    result = python("script.py", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.count("Traceback") == 1
    assert 'must stand under a guard:\n    if __name__ == "__main__":\n        fb.run(..)' in result.stderr


@pytest.mark.slow
def test_with_a_guard(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(f'{SCRIPT}if __name__ == "__main__":\n    {RUN}\n')
    result = python("script.py", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "2\n"), result.stderr


def test_a_class_that_no_other_process_finds(tmp_path: Path) -> None:
    result = python("-c", SCRIPT + OWN, cwd=tmp_path)
    assert "class Mine of algorithm mine is defined in this notebook or prompt" in result.stderr


@pytest.mark.parametrize("processes", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_plugin_that_fails_names_its_line(processes: str, tmp_path: Path) -> None:
    """Also from another process, to which frames do not travel."""
    fedbench = ["-c", "from fedbench.cli.main import main; main()"]
    assert python(*fedbench, "new", "algorithm", "broken", cwd=tmp_path).returncode == 0
    file = tmp_path / "broken.py"
    file.write_text(file.read_text().replace("        state.x = ", "        1 / 0\n        state.x = "))
    number = file.read_text().splitlines().index("        1 / 0") + 1
    small = ["--set", "clients=6", "--set", "budget.seconds=1", "--set", "task.model=softmax"]
    command = ["run", "digits-demo", "-a", "./broken.py:Broken[buffer_size=2]", *small, "--seeds", "2", "-j", processes]
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

    monkeypatch.setattr("fedbench.launch.task.Run", Counted)
    for resume in (False, False, True):
        fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=SMALL, store=tmp_path, options=RunOptions(resume=resume))
    assert computed == [False, False]


class Away(Here):
    """An executor whose tasks do not see the files that are here. It counts its tasks."""

    shares_files = False

    def __init__(self) -> None:
        self.tasks = 0

    def run(self, work: Work[Any, Any], tasks: Sequence[Any], hear: Hear[Any]) -> None:
        self.tasks += len(tasks)
        super().run(work, tasks, hear)


def test_a_stored_record_is_taken_by_who_does_not_share_files(tmp_path: Path) -> None:
    """Such as Ray. What is reused is not written again, and what has to be kept beside a record
    makes its run anew."""
    away, wanted = Away(), specs("digits-demo", ["fedavg[cohort_size=2]", "fedbuff[buffer_size=2]"], 1, SMALL)
    first = run_specs(wanted[:1], store=tmp_path, executor=away)
    (file,) = tmp_path.rglob("record.json")
    before = file.stat().st_mtime_ns
    again = run_specs(wanted, store=tmp_path, executor=away, options=RunOptions(resume=True))
    assert (away.tasks, file.stat().st_mtime_ns) == (2, before)
    assert again[0].digests == first[0].digests
    run_specs(wanted, store=tmp_path, executor=away, options=RunOptions(resume=True, keep_model=True))
    assert away.tasks == 4


SMALL = ["clients=6", "budget.seconds=1", "local.steps=1", "task.model=softmax"]


@dataclass(frozen=True, kw_only=True)
class Odd(FedBuff):
    """Fails in one way or another at its first update."""

    name = "odd"
    way: str = option("", "how it fails")

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        if self.way == "client":
            raise ClientError("client 3 of job 1: no")
        if self.way == "usage":
            raise UsageError("nothing of the kind")
        if self.way == "exit":
            raise SystemExit(0)
        if self.way == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        super().step(state, batch, tools)


def odd(way: str) -> Odd:
    return Odd(way=way, buffer_size=2)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_failure_ends_its_own_run_only(processes: int, tmp_path: Path) -> None:
    told = io.StringIO()
    with pytest.raises(RunsFailed) as caught:
        fb.run(
            "digits-demo", [odd("client"), odd(""), odd("usage")], overrides=SMALL, processes=processes, store=tmp_path,
            watch=Lines(Console(file=told, width=200)),
        )  # fmt: skip
    error = caught.value
    assert [record.selector for record in error.records] == ["odd[buffer_size=2]"]
    assert [(spec.selector, type(why)) for spec, why in error.failures] == [
        ("odd[buffer_size=2,way=client]", ClientError),
        ("odd[buffer_size=2,way=usage]", UsageError),
    ]
    assert str(error).splitlines() == [
        "2 of 3 runs failed",
        "odd[buffer_size=2,way=client] seed 0: client 3 of job 1: no",
        "odd[buffer_size=2,way=usage] seed 0: nothing of the kind",
    ]
    assert error.exit_code == 1
    assert "odd[buffer_size=2,way=client] seed 0: failed: client 3 of job 1: no" in told.getvalue()
    assert len(list(Store(tmp_path))) == 1


def test_failures_of_wrong_use_are_wrong_use() -> None:
    with pytest.raises(RunsFailed) as caught:
        fb.run("digits-demo", odd("usage"), seeds=2, overrides=SMALL)
    assert caught.value.exit_code == 2
    with pytest.raises(RunsFailed) as caught:
        fb.run("digits-demo", [odd("fine"), odd("usage")], overrides=SMALL)
    assert (len(caught.value.records), caught.value.exit_code) == (1, 1), "something was run"


def test_the_error_of_a_single_run_is_raised_as_it_is() -> None:
    with pytest.raises(ClientError, match="client 3 of job 1: no"):
        fb.run("digits-demo", odd("client"), overrides=SMALL)


def test_an_algorithm_that_ends_the_program_has_failed() -> None:
    with pytest.raises(PluginError, match="must not end the program"):
        fb.run("digits-demo", odd("exit"), overrides=SMALL)


def test_a_killed_process_ends_its_own_run(tmp_path: Path) -> None:
    with pytest.raises(RunsFailed, match=r"odd\[.*way=killed\] seed 0: its process was killed by SIGKILL") as caught:
        fb.run("digits-demo", [odd("killed"), odd("")], overrides=SMALL, processes=2, store=tmp_path)
    assert len(caught.value.records) == 1


def test_what_another_process_computes_is_left_out_and_named(tmp_path: Path) -> None:
    store, (first, _) = Store(tmp_path), specs("digits-demo", ["fedavg[cohort_size=2]"], 2, SMALL)
    store.prepare()
    told = io.StringIO()
    with store.lock_of(first.run_id):
        records = fb.run(
            "digits-demo", "fedavg[cohort_size=2]", seeds=2, overrides=SMALL, store=tmp_path, watch=Lines(Console(file=told))
        )
    assert [record.seed for record in records] == [1]
    assert [spec.seed for spec in records.elsewhere] == [0]
    assert "fedavg[cohort_size=2] seed 0: another process is computing it" in told.getvalue()


@pytest.mark.parametrize("writes", [True, False])
def test_it_is_awaited_where_that_is_asked_for(writes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record is taken; what the other process did not finish is computed here."""
    store, (spec,) = Store(tmp_path), specs("digits-demo", ["fedavg[cohort_size=2]"], 1, SMALL)
    store.prepare()
    lock = os.open(store.lock_of(spec.run_id).lock_file, os.O_CREAT | os.O_RDWR)  # not by filelock, which knows its own locks
    computed: list[Run] = []

    class Counted(Run):
        def record(self) -> Record:
            computed.append(self)
            return super().record()

    def other_process() -> None:
        if writes:
            Run(spec, store).record()
        fcntl.flock(lock, fcntl.LOCK_UN)

    fcntl.flock(lock, fcntl.LOCK_EX)
    monkeypatch.setattr("fedbench.launch.task.Run", Counted)
    ends = threading.Timer(0.5, other_process)
    ends.start()
    records = fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=SMALL, store=tmp_path, wait=True)
    ends.join()
    os.close(lock)
    assert [record.run_id for record in records] == [spec.run_id]
    assert records.elsewhere == ()
    assert len(computed) == (0 if writes else 1)


@pytest.mark.slow
def test_two_runners_on_one_store(tmp_path: Path) -> None:
    """Each leaves out what the other computes; together they have all records, and nothing else is
    left."""
    fedbench = [sys.executable, "-c", "from fedbench.cli.main import main; main()"]
    small = [part for one in SMALL for part in ("--set", one)]
    command = [*fedbench, "run", "digits-demo", "-a", "fedavg[cohort_size=2]", *small, "--seeds", "6", "-j", "2"]
    both = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _, stderr = process.communicate(timeout=300)
        assert process.returncode == 0, stderr
        assert "Traceback" not in stderr
    store = Store(tmp_path / "runs")
    assert sorted(record.seed for record in store) == list(range(6))
    assert {path.name for path in store.root.glob("*/*/*")} == {record.run_id for record in store}


def test_the_line_of_a_file(tmp_path: Path) -> None:
    """The last line of the file itself, though a kernel raised the error."""
    (tmp_path / "mine.py").write_text(
        "import fedbench as fb\nfrom fedbench.types import Rounds\n\n\nclass Mine(fb.Algorithm):\n    name = 'mine'\n\n"
        "    def dispatch(self, info):\n        return Rounds(select='all')\n\n    def step(self, state, batch, tools):\n"
        "        state.x = fb.kernels.weighted_sum([1.0], batch.delta)\n"
    )
    with pytest.raises(ValueError, match="weights") as caught:
        fb.run("digits-demo", f"{tmp_path / 'mine.py'}:Mine", overrides=["budget.updates=1", "task.model=softmax"])
    first, code = described(caught.value)
    assert first.startswith(f"{tmp_path / 'mine.py'}, line 12, in step: ValueError: ")
    assert code == "    state.x = fb.kernels.weighted_sum([1.0], batch.delta)"
    assert is_foreign(caught.value)
    assert not is_foreign(ValueError())


def test_seeds_and_settings_are_taken_as_they_are_meant() -> None:
    """NumPy's whole numbers are seeds, and a text alone is one setting."""
    (one,) = specs("digits-demo", "fedavg", np.arange(3, 4), "clients=12")
    assert (one.seed, type(one.seed), one.scenario.clients) == (3, int, 12)
    for seed in (-1, 1.5, "0", 2**64, True):
        with pytest.raises(UsageError, match="seed: expected a whole number between 0 and 9223372036854775807, got"):
            specs("digits-demo", "fedavg", [seed])  # type: ignore[list-item]


def test_what_is_no_algorithm_is_said_in_one_line() -> None:
    for algorithms in (FedBuff, [FedBuff]):
        with pytest.raises(UsageError, match=r"expected a selector or an object, got the class FedBuff; call it: FedBuff\(\)"):
            specs("digits-demo", algorithms, 1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="plan: expected one algorithm, got 2; call it once for each"):
        fb.plan("digits-demo", ["fedbuff", "fedavg"])  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Wide(FedBuff):
    """An option has no default."""

    name = "wide"
    width: int


@dataclass(frozen=True)
class Forgetful(FedBuff):
    """A method forgets to return."""

    name = "forgetful"
    forgets: str = "init"

    def __getattribute__(self, key):  # type: ignore[no-untyped-def]
        forgets = key == object.__getattribute__(self, "forgets")
        return (lambda *arguments: None) if forgets else object.__getattribute__(self, key)

    def reply(self, message, job, work, memory):  # type: ignore[no-untyped-def]
        return super().reply(message, job, work, memory)


def test_an_option_without_a_default_is_named() -> None:
    with pytest.raises(UsageError, match="algorithm wide: option width needs a default, such as `width: int = 1`"):
        specs("digits-demo", Wide(width=3), 1)


@pytest.mark.parametrize(
    ("forgets", "said"),
    [
        ("init", "algorithm forgetful: init must return State, got None"),
        ("broadcast", "algorithm forgetful: broadcast must return Message, got None"),
        ("reply", "must return Reply, got None"),
    ],
)
def test_a_method_that_returns_nothing_is_named(forgets: str, said: str) -> None:
    with pytest.raises(FedbenchError, match=said):
        fb.run("digits-demo", Forgetful(forgets=forgets), overrides=SMALL)
