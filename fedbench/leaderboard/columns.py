"""Declares the columns of the table of all rows. What rows say in them is made in `browse`, as
values and finished words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fedbench import written


@dataclass(frozen=True)
class Said:
    """A field of a row: its value, by which rows are sorted and which is downloaded, and what a
    reader sees; for targets a text for each."""

    value: object
    text: str | list[str]


@dataclass(frozen=True)
class Column:
    """A column. `name` is the field of a row that it shows, `first` the direction in which the
    first click sorts. `target` is the target that it is about, None for another column."""

    name: str
    title: str
    first: str = "ascending"
    is_number: bool = False
    is_shown: bool = False
    target: float | None = None


def columns(targets: Iterable[float]) -> list[Column]:
    """Returns the columns, with one for each target."""
    up, down = "ascending", "descending"
    return [
        Column("algorithm", "Algorithm", is_shown=True), Column("suite", "Suite"), Column("point", "Point"),
        Column("options_kind", "Options"), Column("system", "System"),
        Column("cost", "Time to targets", up, is_number=True, is_shown=True),
        Column("regret", "Ratio to the best", up, is_number=True, is_shown=True),
        Column("in_set", "Best within noise", down, is_shown=True),
        Column("gradients_to_targets", "Gradients to the targets", up, is_number=True),
        Column("bytes_to_targets", "Bytes to the targets", up, is_number=True),
        Column("at_work", "Clients at work", up, is_number=True),
        Column("solved", "Reached", down, is_number=True, is_shown=True),
        *(Column(f"to_{one}", f"{written.targets([one])}: seeds, median s", up, is_number=True, target=one) for one in targets),
        Column("accuracy", "Test accuracy", down, is_number=True, is_shown=True),
        Column("final_accuracy", "Accuracy at the end", down, is_number=True),
        Column("worst_clients", "Worst tenth of clients", down, is_number=True),
        Column("updates", "Updates", up, is_number=True), Column("gradients", "Gradients, whole run", up, is_number=True),
        Column("steps", "Local steps", up, is_number=True), Column("bytes", "Traffic, whole run", up, is_number=True),
        Column("staleness", "Staleness", up, is_number=True), Column("busy", "Busy", down, is_number=True),
        Column("wall_seconds", "Seconds to compute", up, is_number=True), Column("outcomes", "Outcome"), Column("family", "Family"),
        Column("clients_remember", "Clients keep state"), Column("public_data", "Public data"), Column("validity", "Validity"),
        Column("options", "All options"),
    ]  # fmt: skip
