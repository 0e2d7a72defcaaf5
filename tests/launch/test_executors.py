"""Tasks in processes of their own: each ends alone, whatever becomes of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fedbench.errors import ClientError, UsageError
from fedbench.launch.executors import Begun, Done, Event, Executor, Failed, Here, Pool, Told, WorkerDied
from fedbench.launch.runner import on_this_machine
from fedbench.launch.side_by_side import SideBySide


def work(task: Any, tell: Callable[..., None]) -> Any:
    """In a worker's process: what a task says."""
    if task == "fails":
        raise ClientError("client 3: no")
    if task == "odd":
        raise LookupError(os, "an error that is not made of its arguments")
    if task == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "ends":
        os._exit(7)
    tell((1, task))
    tell((2, task))
    return task * 2


def heard(executor: Executor, tasks: Sequence[Any]) -> list[Event]:
    events: list[Event] = []
    executor.run(work, tasks, events.append)
    return events


def ends(events: Sequence[Event]) -> dict[int, Done | Failed]:
    return {event.task: event for event in events if isinstance(event, Done | Failed)}


@pytest.mark.parametrize("executor", [Here(), Pool(1), SideBySide(1)], ids=["here", "pool", "threads"])
def test_every_task_is_begun_told_of_and_done_in_order(executor: Executor) -> None:
    assert heard(executor, [3, 4]) == [
        *(Begun(0), Told(0, (1, 3)), Told(0, (2, 3)), Done(0, 6)),
        *(Begun(1), Told(1, (1, 4)), Told(1, (2, 4)), Done(1, 8)),
    ]


@pytest.mark.parametrize("executor", [Here(), Pool(2), SideBySide(2)], ids=["here", "pool", "threads"])
def test_a_failure_does_not_keep_the_others_from_it(executor: Executor) -> None:
    done = ends(heard(executor, ["fails", 1, 2]))
    assert isinstance(done[0].error, ClientError)
    assert [done[i].result for i in (1, 2)] == [2, 4]


def test_a_killed_worker_ends_its_own_task_and_is_replaced() -> None:
    events = heard(Pool(2), ["killed", "ends", 1, 2, 3])
    done = ends(events)
    assert sorted(event.task for event in events if isinstance(event, Begun)) == [0, 1, 2, 3, 4]
    assert isinstance(done[0].error, WorkerDied)
    assert str(done[0].error) == "its process was killed by SIGKILL; perhaps memory was short"
    assert str(done[1].error) == "its process ended by itself, with exit code 7"
    assert [done[i].result for i in (2, 3, 4)] == [2, 4, 6]


def test_what_cannot_travel_is_said() -> None:
    """A task that cannot be pickled, and an error that cannot."""
    done = ends(heard(Pool(1), [lambda: 0, "odd", 5]))
    assert isinstance(done[0].error, UsageError)
    assert "cannot be handed to another process" in str(done[0].error)
    assert "LookupError" in str(done[1].error)
    assert done[2].result == 10


def test_no_processes() -> None:
    with pytest.raises(UsageError, match="processes must be at least 1, got 0"):
        on_this_machine(0, 3)
    with pytest.raises(UsageError, match="runs side by side must be at least 1, got 0"):
        SideBySide(0)


PROGRAM = """
import signal, sys, time
from pathlib import Path
from fedbench.launch.executors import Pool

def work(task, tell):
    try:
        Path(f"{task}.begun").write_text(str(__import__("os").getpid()))
        time.sleep(60)
    except KeyboardInterrupt:
        Path(f"{task}.interrupted").touch()
        raise

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        Pool(2).run(work, ["a", "b", "c"], lambda event: None)
    except KeyboardInterrupt:
        Path("told").touch()
        sys.exit(130)
"""


def started(folder: Path) -> subprocess.Popen[str]:
    (folder / "program.py").write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, "program.py"], cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until(lambda: all((folder / f"{name}.begun").exists() and (folder / f"{name}.begun").read_text() for name in "ab"))
    return process


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def alive(file: Path) -> bool:
    status = Path(f"/proc/{file.read_text()}/status")
    try:
        return "zombie" not in status.read_text()
    except OSError:
        return False


def test_ctrl_c_reaches_every_worker_once_and_its_end_is_awaited(tmp_path: Path) -> None:
    process = started(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=300)
    assert (process.returncode, stderr) == (130, "")
    assert {file.name for file in tmp_path.iterdir() if file.suffix != ".py" and file.is_file()} == {
        *("a.begun", "b.begun", "a.interrupted", "b.interrupted", "told")
    }


def test_workers_follow_a_killed_parent(tmp_path: Path) -> None:
    process = started(tmp_path)
    process.kill()
    process.communicate(timeout=300)
    until(lambda: not any(alive(tmp_path / f"{name}.begun") for name in "ab"))
    assert (tmp_path / "a.interrupted").exists()
    assert (tmp_path / "b.interrupted").exists()


def test_there_are_never_more_processes_than_were_asked_for() -> None:
    alive: list[int] = []
    Pool(2).run(work, [1, "killed", 2, 3], lambda event: alive.append(len(multiprocessing.active_children())))
    assert max(alive) == 2
