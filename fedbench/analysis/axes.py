"""The axes on which runs are compared and drawn: what a run has spent when a model is evaluated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbench.errors import RecordError, UsageError, nearest
from fedbench.results.record import Record


@dataclass(frozen=True)
class Axis:
    """One axis.

    name: how a user asks for it.
    column: the column of a record's curves that holds it. It never falls along a run.
    words: what it counts, for headings.
    unit: what follows a number.
    """

    name: str
    column: str
    words: str
    unit: str

    @property
    def title(self) -> str:
        """Returns the title for pictures, such as `virtual time (s)` or `server updates`."""
        return f"{self.words} ({self.unit})" if len(self.unit) == 1 else self.words


SECONDS = Axis("seconds", "seconds", "virtual time", "s")
AXES = {
    axis.name: axis
    for axis in (
        SECONDS,
        Axis("updates", "version", "server updates", "updates"),
        Axis("gradient_evaluations", "gradient_evaluations", "gradient evaluations", "gradients"),
        Axis("steps", "steps", "local steps", "steps"),
        Axis("bytes", "bytes", "traffic", "B"),
    )
}
_ALSO = {axis.column: axis for axis in AXES.values()} | {"rounds": AXES["updates"]}


def find(name: str | Axis) -> Axis:
    """Returns the axis of a name or of a column of the curves; `rounds` means updates. Raises
    UsageError with the nearest match if there is none."""
    if isinstance(name, Axis):
        return name
    plain = name.replace("-", "_")
    found = AXES.get(plain) or _ALSO.get(plain)
    if found is None:
        raise UsageError(f"unknown axis {name!r}{nearest(plain, AXES)}")
    return found


def along(record: Record, axis: Axis) -> NDArray[np.float64]:
    """Returns the places of a run's evaluations on the axis, (T,) float64. Raises RecordError if
    the record lacks the column, because it was made before fedbench counted it."""
    column = record.curves.get(axis.column)
    if column is None:
        raise RecordError(
            f"record {record.run_id} ({record.scenario}, {record.selector}, seed {record.seed}): its curves have no column "
            f"{axis.column!r}, which axis {axis.name} needs; run it again, or choose another axis"
        )
    return np.asarray(column, dtype=np.float64)
