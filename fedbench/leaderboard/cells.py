"""Makes the table of a scenario: its columns, and what a row says in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fedbench import written
from fedbench.analysis.axes import Axis
from fedbench.documents.board import Standing
from fedbench.documents.section import Row, Section
from fedbench.leaderboard import formats
from fedbench.written import number, percent, size


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


Write = Callable[[float | None], str]


@dataclass(frozen=True)
class Column:
    """A column of the table: its heading, and what a row says in it. `first` is the direction in
    which the first click sorts, so that the better end is on top."""

    label: str
    note: str
    cell: Callable[[Row], Cell]
    first: str = "descending"
    numeric: bool = True


def columns(scenario: Section, axis: Axis, board: Mapping[str, Standing]) -> list[Column]:
    """Returns the columns of a scenario. There is one for the cost if there is a board, whose rows
    are those of `board` by label."""
    place, spent, up = scenario.horizon.at, formats.TO_TARGET[axis.name], "ascending"
    accuracy = "not compared" if place is None else f"at {written.place(place, axis.unit)}, mean {written.PLUS_MINUS} 95 %"
    causes = ((number, "jobs_left", "{} left"), (number, "jobs_dropped_out", "{} dropped out"), (number, "jobs_late", "{} late"))
    lost = _measured(percent, "lost_share", *causes)
    steps = ((number, "avoided_steps", "{} avoided"), (number, "gradient_evaluations", "{} gradients"))
    return [
        Column("Algorithm", "options on its page", lambda row: Cell(row.label, sort=row.label), up, numeric=False),
        *([Column("Time to targets", "cost", lambda row: _cost(row, board.get(row.label)), up)] if board else []),
        Column("Test accuracy", accuracy, _accuracy),
        *(
            Column(f"{spent} to {formats.goal(one.metric, one.value)}", "median (seeds that reach it)", _to_target(i, axis), up)
            for i, one in enumerate(scenario.targets)
        ),
        Column("Outcome", "seeds, ended by", _outcome, up, numeric=False),
        Column("End of run", "final, worst clients", _end),
        Column("Updates", "server", _measured(number, "updates")),
        *([Column("Lost or late", "of all jobs", lost, up)] if any(row.loses_jobs for row in scenario.rows) else []),
        Column("Traffic", "up + down", _measured(size, "traffic", (size, "bytes_wasted", "{} wasted")), up),
        Column("Busy", "clients", _measured(percent, "busy_fraction", (percent, "wasted_share", "{} in vain"))),
        Column("Staleness", "mean", _measured(number, "staleness_mean", (number, "staleness_max", "max {}")), up),
        Column("Local steps", "trained", _measured(number, "trained_steps", *steps), up),
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


def _to_target(i: int, axis: Axis) -> Callable[[Row], Cell]:
    """Returns what makes the cell of a target: when it is held."""

    def cell(row: Row) -> Cell:
        value = row.to_target[i]
        return Cell(formats.hits(value, axis), [formats.hits_note(value, axis)], sort=value.median)

    return cell


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


def _measured(write: Write, name: str, *notes: tuple[Write, str, str]) -> Callable[[Row], Cell]:
    """Returns what makes the cell of a mean, by which its column is sorted. A note has a mean too,
    and is left out if that is 0."""

    def cell(row: Row) -> Cell:
        values = {**row.means, "traffic": traffic(row.means), "staleness_max": row.staleness_max}
        told = [text.format(shown(value)) if (value := values.get(one)) else "" for shown, one, text in notes]
        return Cell(write(values[name]), told, sort=values[name])

    return cell
