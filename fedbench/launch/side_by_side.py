"""An executor for runs on one device: threads of this process, whose jobs train together."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Iterator, Sequence

from fedbench.engine.trainers.counted import LEAST_LANES
from fedbench.engine.trainers.meeting import Meeting
from fedbench.errors import UsageError
from fedbench.launch.executors import Begun, Event, Hear, R, T, Work, ended

Heard = Event[R] | BaseException | None
"""What a thread says: what its tasks do, what ends it if that is not its last task, and that it has
ended."""

RUNS = 8
"""How many runs go side by side unless told otherwise."""


class SideBySide:
    """Works at `runs` tasks at a time, in threads that take turns: see `Meeting`.

    A task that has ended makes room for the next one. After Ctrl-C the tasks under way end where
    they would train next, and their end is awaited. A second Ctrl-C does not wait.
    """

    shares_files = True

    def __init__(self, runs: int = RUNS) -> None:
        if runs < 1:
            raise UsageError(f"run: runs side by side must be at least 1, got {runs}")
        self.runs = runs

    @property
    def lanes(self) -> int:
        """How many jobs a device trains at a time, as far as its memory goes. It depends on no task
        and on none beside it, and so no result does."""
        return LEAST_LANES * self.runs

    def run(self, work: Work[T, R], tasks: Sequence[T], hear: Hear[R]) -> None:
        members = min(self.runs, len(tasks))
        meeting, heard = Meeting(members), queue.SimpleQueue[Heard[R]]()
        attend = functools.partial(_attend, meeting, work, iter(enumerate(tasks)), heard.put)
        threads = [threading.Thread(target=attend, name=f"fedbench-run-{number}", daemon=True) for number in range(members)]
        try:
            for thread in threads:
                thread.start()
            while members:
                event = heard.get()
                if isinstance(event, BaseException):
                    raise event
                if event is None:
                    members -= 1
                else:
                    hear(event)
        finally:
            meeting.interrupt()
            for thread in threads:
                if thread.ident is not None:  # else Ctrl-C came before it was started
                    thread.join()


def _attend(meeting: Meeting, work: Work[T, R], waiting: Iterator[tuple[int, T]], put: Callable[[Heard[R]], None]) -> None:
    """Works at tasks as a member of the meeting until none is waiting."""
    try:
        with meeting.attended():
            for number, task in waiting:
                if meeting.is_interrupted:
                    break
                put(Begun(number))
                put(ended(work, task, number, put))
    except BaseException as error:
        put(error)
    put(None)
