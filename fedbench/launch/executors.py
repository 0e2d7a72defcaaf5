"""Executors work at tasks: one after the other in this process, or side by side in other processes.
The end of one process does not touch the others."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, Protocol, TypeVar

from fedbench import foreign
from fedbench.errors import FedbenchError, PluginError, UsageError
from fedbench.process import safe_path

T = TypeVar("T")
R = TypeVar("R")
Tell = Callable[[object], None]
"""Reports progress, as anything that can be pickled."""
Work = Callable[[T, Tell], R]
"""Does a task and returns its result. It calls its second argument to report progress."""


@dataclass(frozen=True)
class Begun:
    """The work on task number `task` has begun."""

    task: int


@dataclass(frozen=True)
class Told:
    """The work on a task reports progress."""

    task: int
    report: object


@dataclass(frozen=True)
class Done(Generic[R]):
    """A task has ended with a result."""

    task: int
    result: R


@dataclass(frozen=True)
class Failed:
    """A task has ended with an error, which it raised, or which says what became of it."""

    task: int
    error: Exception


Event = Begun | Told | Done[R] | Failed
Hear = Callable[[Event[R]], None]


class WorkerDied(FedbenchError):
    """The process that worked at a task was killed, or ended without a result."""


class Executor(Protocol):
    """Works at tasks."""

    @property
    def shares_files(self) -> bool:
        """Returns whether files that a task writes are seen here. If not, the result of the task
        must contain what is needed."""

    def run(self, work: Work[T, R], tasks: Sequence[T], hear: Hear[R]) -> None:
        """Works at all tasks, in order. `hear` gets a Begun for each task, any number of Told, and
        a Done or a Failed, whatever becomes of the other tasks.

        KeyboardInterrupt ends the tasks under way, which may still write what they have. It is
        raised when all of them have ended.
        """


class Here:
    """Works at the tasks one after the other, in this process."""

    shares_files = True

    def run(self, work: Work[T, R], tasks: Sequence[T], hear: Hear[R]) -> None:
        for number, task in enumerate(tasks):
            hear(Begun(number))
            hear(ended(work, task, number, hear))


def ended(work: Work[T, R], task: T, number: int, hear: Hear[R]) -> Done[R] | Failed:
    """Does a task, passes on what it tells, and returns how it ended."""
    try:
        return Done(number, work(task, lambda report: hear(Told(number, report))))
    except Exception as error:
        return Failed(number, error)


class Pool:
    """Works at the tasks in `processes` processes, which import the main program again.

    If a worker is killed, its task fails and the worker is replaced. Ctrl-C is passed on to the
    workers, and their end is awaited. A second Ctrl-C kills them. Workers whose parent was killed
    end by themselves, as after Ctrl-C.
    """

    shares_files = True

    def __init__(self, processes: int) -> None:
        if processes < 1:
            raise UsageError(f"run: processes must be at least 1, got {processes}")
        self.processes = processes

    def run(self, work: Work[T, R], tasks: Sequence[T], hear: Hear[R]) -> None:
        """Works at all tasks. Raises UsageError if the main program cannot be imported again, most
        often because importing it starts runs."""
        if getattr(multiprocessing.current_process(), "_inheriting", False):  # a worker, which imports the main program
            raise SystemExit(1)
        workers: list[_Worker] = []
        waiting = iter(enumerate(tasks))
        try:
            for _ in range(min(self.processes, len(tasks))):
                workers.append(_Worker(work))
            for worker in workers:
                worker.await_start(self.processes)
            for worker in workers:
                worker.take_next(waiting, hear)
            while any(worker.task is not None for worker in workers):
                ready = wait([worker.pipe for worker in workers if worker.task is not None])
                for index in [i for i, worker in enumerate(workers) if worker.pipe in ready]:
                    if not workers[index].listen(hear):
                        workers[index] = _Worker(work)
                    if workers[index].task is None:
                        workers[index].take_next(waiting, hear)
        finally:
            _end(workers)


class _Worker:
    """The parent's side of a worker process, which has one task at a time."""

    def __init__(self, work: Work[T, R]) -> None:
        context = multiprocessing.get_context("spawn")
        self.task: int | None = None
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, work))
        # The process begins with Ctrl-C blocked, and lets it through while it works at a task.
        with safe_path(), _interrupts(signal.SIG_BLOCK):
            self.process.start()
        theirs.close()

    def await_start(self, processes: int) -> None:
        try:
            self.pipe.recv()
        except (EOFError, OSError):
            raise UsageError(
                f"run: processes={processes} starts processes that import this program again, so it must be a file, and what it runs must "
                "stand under a guard:",
                '    if __name__ == "__main__":',
                "        fb.run(..)",
            ) from None

    def take_next(self, waiting: Iterator[tuple[int, T]], hear: Hear[R]) -> None:
        """Hands over the next task that can be pickled, if there is one. The others fail."""
        for number, task in waiting:
            try:
                content = pickle.dumps(task)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                hear(Failed(number, UsageError(f"run: cannot be handed to another process ({error}); leave processes at 1")))
                continue
            self.task = number
            hear(Begun(number))
            with contextlib.suppress(OSError):  # the process has died, which `listen` will notice
                self.pipe.send_bytes(content)
            return

    def listen(self, hear: Hear[R]) -> bool:
        """Passes the next message of the process on. Returns False if the process has died."""
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            self.pipe.close()
            self.process.join()
            number, self.task = self.task, None
            if number is not None:
                hear(Failed(number, WorkerDied(f"its process {_how_it_ended(self.process)}")))
            return False
        assert self.task is not None
        if isinstance(message, Done | Failed):
            number, self.task = self.task, None
            hear(replace(message, task=number))
        elif message is not None:  # which is the start of a worker in a dead one's place
            hear(Told(self.task, message))
        return True


def _end(workers: Sequence[_Worker]) -> None:
    """Asks all workers to end, and waits for them. Idle ones end at once. Those at work may write
    what they have. Another Ctrl-C kills those that are left."""
    for worker in workers:
        worker.pipe.close()
        if worker.task is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.process.pid or 0, signal.SIGINT)
    try:
        for worker in workers:
            worker.process.join()
    except KeyboardInterrupt:
        for worker in workers:
            worker.process.kill()
            worker.process.join()
        raise


def _how_it_ended(process: BaseProcess) -> str:
    code = process.exitcode or 0
    if code >= 0:
        return f"ended by itself, with exit code {code}"
    name = signal.Signals(-code).name
    return f"was killed by {name}" + "; perhaps memory was short" * (name == "SIGKILL")


# ---- in a worker's process ----


def _serve(pipe: Connection, work: Work[T, R]) -> None:
    """Does tasks until the parent closes its end of the pipe."""
    os.setpgid(0, 0)  # Ctrl-C on a terminal reaches the parent alone, which passes it on once
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_follow_parent, daemon=True).start()
    try:
        pipe.send(None)
        while True:
            content = pipe.recv_bytes()
            with _interrupts(signal.SIG_UNBLOCK):
                ended = attempt(lambda task, tell: work(pickle.loads(task), tell), content, tell=pipe.send)
            pipe.send(ended)
    except (EOFError, OSError):  # the parent has closed its end
        pass
    except KeyboardInterrupt:
        sys.exit(130)


def attempt(work: Work[T, R], task: T, number: int = 0, tell: Tell = lambda report: None) -> Done[R] | Failed:
    """Does a task in another process, on another machine without reporting progress. An error of
    the task is part of the result, since another attempt would fail too."""
    try:
        return Done(number, work(task, tell))
    except Exception as error:
        return Failed(number, fit_to_travel(error))


def fit_to_travel(error: Exception) -> Exception:
    """Returns an error that can be pickled and says the same. Frames of a traceback cannot be
    pickled, so their text becomes a note."""
    if not isinstance(error, FedbenchError) and foreign.is_foreign(error):
        return PluginError(*foreign.described(error))
    if not isinstance(error, FedbenchError):
        error.add_note("In a worker's process:\n" + "".join(traceback.format_tb(error.__traceback__)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return FedbenchError(foreign.named(error))
    return error


def _follow_parent() -> None:
    """Ends this worker when its parent has ended. A task under way ends as after Ctrl-C."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGINT)


@contextlib.contextmanager
def _interrupts(how: int) -> Iterator[None]:
    """Blocks Ctrl-C (SIG_BLOCK) or lets it through (SIG_UNBLOCK) in this thread."""
    before = signal.pthread_sigmask(how, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
