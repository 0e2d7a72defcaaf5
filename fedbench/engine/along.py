"""What the models at chosen times of a run achieve on every client and class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedbench.engine.evaluate import Evaluator
from fedbench.engine.execute import Execution
from fedbench.engine.measures import Parts, Unseen
from fedbench.engine.trainers.base import Snapshot
from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS
from fedbench.results.kept_parts import MOST_ROWS

MOST_TIMES = 1000


class Point(NamedTuple):
    """What the model of one version achieves."""

    seconds: float
    version: int
    parts: Parts
    unseen: Unseen


def point(evaluator: Evaluator, judged: Snapshot, seconds: float, version: int) -> Point:
    return Point(seconds, version, evaluator.parts(*judged), evaluator.unseen(*judged))


def check_times(seconds: Sequence[float]) -> None:
    """Raises UsageError unless these can be times of a run."""
    wrong = [one for one in seconds if not 0 <= one < math.inf]
    if wrong:
        raise UsageError(f"keep_clients_at: expected virtual seconds >= 0, got {wrong[0]:g}")
    if len(seconds) > MOST_TIMES:
        raise UsageError(f"keep_clients_at: expected at most {MOST_TIMES:,} times, got {len(seconds):,}")


class Along:
    """Keeps a Point for each of the chosen times: that of the newest version at or before it."""

    def __init__(self, evaluator: Evaluator, seconds: Sequence[float], budget_seconds: float) -> None:
        """Raises UsageError for a time after the budget, or if there were too many rows."""
        self.evaluator, self.seconds, self.points = evaluator, sorted(set(seconds)), list[Point]()
        if self.seconds and self.seconds[-1] > budget_seconds:
            raise UsageError(
                f"keep_clients_at: expected at most the {budget_seconds:g} seconds of the budget, got {self.seconds[-1]:g}"
            )
        workload = evaluator.backend.workload
        clients, unseen, classes = len(workload.shards), len(workload.unseen), workload.task.dataset.classes
        if (rows := (clients + unseen) * (len(self.seconds) + 1)) > MOST_ROWS:
            raise UsageError(f"keep_clients_at: expected at most {MOST_ROWS:,} rows of clients, got {rows:,}; name fewer times")
        self._shapes = [(clients,), (clients,), (classes,), (classes,), (unseen,), (unseen,)]

    def fill(self, execution: Execution, version: int, until_ns: int) -> None:
        """Adds the points up to a time, at which the model is still that of this version."""
        for seconds in self.seconds[len(self.points) :]:
            if round(seconds * NANOSECONDS) > until_ns:
                return
            self.points.append(point(self.evaluator, execution.judged(), seconds, version))

    def content(self) -> list[object]:
        """Returns what a checkpoint has of it."""
        return [self.seconds, [[one.version, *one.parts, *one.unseen] for one in self.points]]

    def restore(self, content: list[object] | None) -> None:
        """Takes the content of a checkpoint. ValueError if it is of other times or of another
        form."""
        asked, points = content or ([], [])
        if asked != self.seconds:
            raise ValueError(f"it keeps clients at {_in_words(asked)}, this run at {_in_words(self.seconds)}")
        found = []
        for seconds, (version, *arrays) in zip(self.seconds, points, strict=False):  # type: ignore[call-overload]
            if [(one.dtype, one.shape) for one in arrays] != [(np.dtype(np.float64), shape) for shape in self._shapes]:
                raise ValueError("what it keeps of clients has another form")
            found.append(Point(seconds, int(version), Parts(*arrays[:4]), Unseen(*arrays[4:])))
        self.points = found


def _in_words(seconds: object) -> str:
    return f"{', '.join(f'{one:g}' for one in seconds)} s" if isinstance(seconds, list) and seconds else "no time"
