"""Makes the table of a scenario: its columns, and what a row says in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fedbench import written
from fedbench.analysis.axes import Axis
from fedbench.documents.board import Standing
from fedbench.documents.section import Hits, Row, Section
from fedbench.leaderboard import formats


@dataclass(frozen=True)
class Column:
    """A column of the table. `first` is the direction in which the first click sorts, so that the
    better end is on top."""

    label: str
    note: str
    first: str = "descending"
    numeric: bool = True


@dataclass(frozen=True)
class Cell:
    """What a row says in a column.

    Attributes:
        text: the text.
        notes: one line below the text for each note that is not empty.
        mark: how the row stands, in words.
        alarm: whether a seed went wrong.
        sort: the value by which the column is sorted. None is always last.
    """

    text: str
    notes: Sequence[str] = ()
    mark: str = ""
    alarm: bool = False
    sort: float | str | None = None


def columns(scenario: Section, axis: Axis, *, has_board: bool = False) -> list[Column]:
    """Returns the columns in the order that `cells` has as well. With `has_board` there is a column
    for the cost."""
    place, spent = scenario.horizon.at, formats.TO_TARGET[axis.name]
    return [
        Column("Algorithm", "options on its page", "ascending", numeric=False),
        *([Column("Time to targets", "cost", "ascending")] if has_board else []),
        Column(
            "Test accuracy",
            "not compared" if place is None else f"at {written.place(place, axis.unit)}, mean {written.PLUS_MINUS} 95 %",
        ),
        *(
            Column(f"{spent} to {formats.goal(one.metric, one.value)}", "median (seeds that reach it)", "ascending")
            for one in scenario.targets
        ),
        Column("Outcome", "seeds, ended by", "ascending", numeric=False),
        Column("End of run", "final, worst clients"),
        Column("Updates", "server"),
        *([Column("Lost or late", "of all jobs", "ascending")] if any(row.loses_jobs for row in scenario.rows) else []),
        Column("Traffic", "up + down", "ascending"),
        Column("Busy", "clients"),
        Column("Staleness", "mean", "ascending"),
        Column("Local steps", "trained", "ascending"),
    ]


def cells(row: Row, axis: Axis, standing: Standing | None = None, *, has_board: bool = False) -> list[Cell]:
    """Returns the cells of a row. `standing` is its row of the board, if there is a board that has
    it."""
    means = row.means
    return [
        Cell(row.label, sort=row.label),
        *([_cost(row, standing)] if has_board else []),
        _accuracy(row),
        *(_to_target(one, axis) for one in row.to_target),
        _outcome(row),
        _end(row),
        _measured(written.number, means["updates"]),
        *([_lost(means)] if row.loses_jobs else []),
        _measured(written.size, traffic(means), _note(written.size, means["bytes_wasted"], "{} wasted")),
        _measured(written.percent, means["busy_fraction"], _note(written.percent, means.get("wasted_share"), "{} in vain")),
        _measured(written.number, means["staleness_mean"], _note(written.number, row.staleness_max, "max {}")),
        _measured(
            written.number,
            means["trained_steps"],
            _note(written.number, means["avoided_steps"], "{} avoided"),
            _note(written.number, means["gradient_evaluations"], "{} gradients"),
        ),
    ]


def traffic(means: Mapping[str, float | None]) -> float | None:
    """Returns the bytes that clients sent and got; None if one of the two is unknown."""
    up, down = means["bytes_up"], means["bytes_down"]
    return None if up is None or down is None else up + down


def _cost(row: Row, standing: Standing | None) -> Cell:
    """Returns the cell of the cost, with the system in which it is compared, or why it is not."""
    if standing is None:
        return Cell("not compared", [row.off_board], sort=None)
    where = "not compared" if standing.group is None else standing.group
    mark = formats.IN_SET if formats.on_board(standing) == formats.IN_SET else ""
    return Cell(formats.cost(standing), [where], mark, sort=standing.cost if standing.solved else None)


def _accuracy(row: Row) -> Cell:
    """Returns the cell of the accuracy at the common horizon, with the difference to the best mean
    of the rows of its system.
    The note on seeds is left out if the mark names the same seeds."""
    value = row.measures["test_accuracy_at_horizon"]
    mark = f"not compared: {row.left_out}" if row.left_out else formats.standing(row.accuracy)
    is_said = row.accuracy.standing in ("tied", "ahead") and row.accuracy.seeds == value.n + value.missing
    notes = ["" if is_said else formats.seed_note(value), formats.difference(row.accuracy)]
    return Cell(formats.interval(value), notes, mark, sort=value.mean)


def _to_target(value: Hits, axis: Axis) -> Cell:
    """Returns the cell of a target: when it is held."""
    return Cell(formats.hits(value, axis), [formats.hits_note(value, axis)], sort=value.median)


def _outcome(row: Row) -> Cell:
    text = formats.outcomes(row.outcomes)
    return Cell(text, [formats.ended_by(row.ended_by)], alarm=set(row.outcomes) != {"finished"}, sort=text)


def _end(row: Row) -> Cell:
    """Returns the cell of the accuracies at the end of a run, which are shown and never ranked. The
    worst clients are those of the lowest decile."""
    names = ("test_accuracy", "test_accuracy_last_10", "client_accuracy_worst_decile")
    final, last, worst = (row.measures[name] for name in names)
    notes = [f"last 10: {last.mean:.3f}" if last.n else "", f"worst {formats.interval(worst)}" if worst.n else ""]
    return Cell(formats.interval(final), notes, sort=final.mean)


def _lost(means: Mapping[str, float | None]) -> Cell:
    """Returns the cell of the share of jobs that are lost or late, with their number by cause."""
    causes = (("jobs_left", "{} left"), ("jobs_dropped_out", "{} dropped out"), ("jobs_late", "{} late"))
    return _measured(written.percent, means["lost_share"], *(_note(written.number, means[name], text) for name, text in causes))


def _measured(shown: Callable[[float | None], str], value: float | None, *notes: str) -> Cell:
    """Returns the cell of a number, by which its column is sorted. `shown` makes its text."""
    return Cell(shown(value), notes, sort=value)


def _note(shown: Callable[[float | None], str], value: float | None, text: str) -> str:
    return "" if not value else text.format(shown(value))
