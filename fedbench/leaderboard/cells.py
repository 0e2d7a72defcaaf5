"""The table of a scenario: its columns, and what a row says in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedbench.leaderboard import formats


@dataclass(frozen=True)
class Column:
    """A column of the table. first: the direction of the first click, the better end on top."""

    label: str
    note: str
    first: str = "descending"
    numeric: bool = True


@dataclass(frozen=True)
class Cell:
    """text; notes below it, a line each but for empty ones; mark: a standing in words; alarm: a
    seed went wrong; sort: key of the column, None is always last."""

    text: str
    notes: Sequence[str] = ()
    mark: str = ""
    alarm: bool = False
    sort: float | str | None = None


def columns(scenario: Mapping[str, Any], axis: Mapping[str, str], *, has_board: bool = False) -> list[Column]:
    """The columns in order; `cells` gives the same order. has_board: rows are ordered by their time
    to the targets."""
    place = scenario["horizon"]["at"]
    return [
        Column("Algorithm", "options unfold", "ascending", numeric=False),
        *([Column("Time to the targets", "mean ± 95 %", "ascending")] if has_board else []),
        Column("Test accuracy", "not compared" if place is None else f"at {formats.place(place, axis)}, mean ± 95 %"),
        *(
            Column(
                f"{formats.TO_TARGET[axis['name']]} to {formats.goal(one['metric'], one['value'])}",
                "median (hits/seeds)",
                "ascending",
            )
            for one in scenario["targets"]
        ),
        Column("Outcome", "seeds, ended by", "ascending", numeric=False),
        Column("End of run", "final, worst clients"),
        Column("Updates", "server"),
        *([Column("Lost or late", "of all jobs", "ascending")] if any(map(loses_jobs, scenario["rows"])) else []),
        Column("Traffic", "up + down", "ascending"),
        Column("Busy", "clients"),
        Column("Staleness", "mean", "ascending"),
        Column("Local steps", "trained", "ascending"),
    ]


def cells(row: Mapping[str, Any], axis: Mapping[str, str], standing: Mapping[str, Any] | None = None) -> list[Cell]:
    """One row's cells. `standing`: the row of the board, if there is one."""
    means = {name: value["mean"] for name, value in row["measures"].items()}
    traffic = None if means["bytes_up"] is None or means["bytes_down"] is None else means["bytes_up"] + means["bytes_down"]
    return [
        Cell(row["label"], sort=row["label"]),
        *([_time(standing)] if standing is not None else []),
        _accuracy(row),
        *(_to_target(one, axis) for one in row["to_target"]),
        _outcome(row),
        _end(row),
        Cell(formats.number(means["updates"]), sort=means["updates"]),
        *([_lost(means)] if loses_jobs(row) else []),
        Cell(formats.size(traffic), [_note(formats.size, means["bytes_wasted"], "{} wasted")], sort=traffic),
        Cell(
            formats.percent(means["busy_fraction"]),
            [_note(formats.percent, means.get("wasted_share"), "{} in vain")],
            sort=means["busy_fraction"],
        ),
        Cell(
            formats.number(means["staleness_mean"]),
            [_note(formats.number, row["staleness_max"], "max {}")],
            sort=means["staleness_mean"],
        ),
        Cell(
            formats.number(means["trained_steps"]),
            [
                _note(formats.number, means["avoided_steps"], "{} avoided"),
                _note(formats.number, means["gradient_evaluations"], "{} gradients"),
            ],
            sort=means["trained_steps"],
        ),
    ]


def loses_jobs(row: Mapping[str, Any]) -> bool:
    """All rows of a scenario alike."""
    return "lost_share" in row["measures"]


def _time(standing: Mapping[str, Any]) -> Cell:
    """A missed target counts with the budget, so the time of a row that misses is a lower bound."""
    if standing["solved"] == 0:
        return Cell("no target", sort=None)
    half, bound = standing["half_width"], "" if standing["solved"] == 1 else "≥ "
    notes = ["" if standing["solved"] == 1 else f"{formats.percent(standing['solved'])} of targets and seeds"]
    text = f"{bound}{standing['mean']:.1f} s" + ("" if half is None else f" ± {half:.1f}")
    return Cell(text, notes, formats.on_board(standing), sort=standing["mean"])


def _accuracy(row: Mapping[str, Any]) -> Cell:
    """Returns the cell of the accuracy at the common horizon, with the difference to the best mean.
    A mark that names the seeds spares the note."""
    value = row["measures"]["test_accuracy_at_horizon"]
    mark = f"not compared: {row['left_out']}" if row["left_out"] else formats.standing(row["accuracy"])
    is_said = row["accuracy"]["standing"] in ("tied", "ahead") and row["accuracy"]["seeds"] == value["n"] + value["missing"]
    notes = ["" if is_said else formats.seed_note(value), formats.difference(row["accuracy"])]
    return Cell(formats.interval(value), notes, mark, sort=value["mean"])


def _to_target(value: Mapping[str, Any], axis: Mapping[str, str]) -> Cell:
    """A miss is a number of hits below that of the seeds, which says that the row is not
    compared."""
    mark = "" if value["lower_bound"] and value["comparison"]["standing"] == "unknown" else formats.standing(value["comparison"])
    return Cell(formats.hits(value, axis), [formats.hits_note(value, axis)], mark, sort=value["median"])


def _outcome(row: Mapping[str, Any]) -> Cell:
    text = formats.outcomes(row["outcomes"])
    return Cell(text, [formats.ended_by(row["ended_by"])], alarm=set(row["outcomes"]) != {"finished"}, sort=text)


def _end(row: Mapping[str, Any]) -> Cell:
    """Finals, which are shown and never ranked; the worst clients are those of the lowest
    decile."""
    names = ("test_accuracy", "test_accuracy_last_10", "client_accuracy_worst_decile")
    final, last, worst = (row["measures"][name] for name in names)
    notes = [f"last 10: {last['mean']:.3f}" if last["n"] else "", f"worst {formats.interval(worst)}" if worst["n"] else ""]
    return Cell(formats.interval(final), notes, sort=final["mean"])


def _lost(means: Mapping[str, float | None]) -> Cell:
    """The share of the jobs that are lost or late, and how many by cause."""
    causes = (("jobs_left", "{} left"), ("jobs_dropped_out", "{} dropped out"), ("jobs_late", "{} late"))
    notes = [_note(formats.number, means[name], text) for name, text in causes]
    return Cell(formats.percent(means["lost_share"]), notes, sort=means["lost_share"])


def _note(shown: Any, value: float | None, text: str) -> str:
    return "" if not value else text.format(shown(value))
