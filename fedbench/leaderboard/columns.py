"""Declares the columns of rows, once for the table of a scenario, for the table of all rows with
its downloads, and for the CSV of a document.

A new column is an entry of `DECLARED`. A measure that is new too is made in `analysis.rows`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from fedbench import written
from fedbench.analysis.axes import Axis
from fedbench.documents.board import AXES, Standing
from fedbench.documents.parts import Spent
from fedbench.documents.section import Section
from fedbench.leaderboard import formats
from fedbench.leaderboard.cells import Cell, Column, Say, Seen, Write
from fedbench.written import number, percent, size

NO_SYSTEM = "not compared"
"""What stands for the system of references, and of rows that are on no board."""


def _text(say: Callable[[Seen], str]) -> Say:
    def cell(seen: Seen) -> Cell:
        return Cell(text := say(seen), sort=text)

    return cell


def _yes(say: Callable[[Seen], bool | None]) -> Say:
    def cell(seen: Seen) -> Cell:
        value = say(seen)
        return Cell(written.NONE if value is None else "yes" if value else "no", value=value)

    return cell


def _measured(write: Write, name: str, *notes: tuple[Write, str, str]) -> Say:
    """Returns what makes the cell of a mean, by which its column is sorted. A note has a mean too,
    and is left out if that is 0."""

    def cell(seen: Seen) -> Cell:
        row = seen.row
        values = {**row.means, "traffic": formats.traffic(row.means), "staleness_max": row.staleness_max}
        told = [text.format(shown(value)) if (value := values.get(one)) else "" for shown, one, text in notes]
        return Cell(write(values.get(name)), told, sort=values.get(name))

    return cell


def _on_board(say: Callable[[Standing], Cell]) -> Say:
    """Returns what makes the cell of a row of a board; a row that is on none has nothing to say."""
    return lambda seen: Cell(written.NONE) if seen.standing is None else say(seen.standing)


def shortened(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _cost(seen: Seen) -> Cell:
    """Returns the cell of the cost, with the system in which it is compared, or why it is not."""
    standing = seen.standing
    if standing is None:
        return Cell(NO_SYSTEM, [seen.row.off_board])
    mark = formats.IN_SET if formats.on_board(standing) == formats.IN_SET else ""
    sort = standing.cost if standing.solved else None
    return Cell(formats.cost(standing), [standing.group or NO_SYSTEM], mark, sort=sort, value=standing.cost)


def _regret(standing: Standing) -> Cell:
    ratio = standing.ratio
    return (
        Cell(written.NONE) if ratio is None else Cell(" ".join(ratio.parts).strip(), value=[*map(shortened, ratio.numbers or ())])
    )


def _in_set(standing: Standing) -> Cell:
    words = formats.on_board(standing)
    text = f"{written.BEST} yes" if standing.is_ahead else "no" if words == "behind the best" else words
    return Cell(text, value=standing.is_ahead)


def _spent(axis: Spent) -> Say:
    """Returns what makes the cell of the cost on another axis than seconds."""

    def cell(standing: Standing) -> Cell:
        return Cell(formats.cost(standing, axis), sort=standing.axes[axis].cost if axis in standing.axes else None)

    return _on_board(cell)


def _accuracy(seen: Seen) -> Cell:
    """Returns the cell of the accuracy at the common horizon, with the difference to the best mean
    of the rows of its system.
    The note on seeds is left out if the mark names the same seeds."""
    row = seen.row
    value = row.measures["test_accuracy_at_horizon"]
    mark = f"not compared: {row.left_out}" if row.left_out else formats.standing(row.accuracy)
    is_said = row.accuracy.standing in ("tied", "ahead") and row.accuracy.seeds == value.n + value.missing
    notes = ["" if is_said else formats.seed_note(value), formats.difference(row.accuracy)]
    return Cell(formats.interval(value), notes, mark, sort=value.mean)


def _outcome(seen: Seen) -> Cell:
    row = seen.row
    text = formats.outcomes(row.outcomes)
    return Cell(text, [formats.ended_by(row.ended_by)], alarm=set(row.outcomes) != {"finished"}, sort=text)


def _end(seen: Seen) -> Cell:
    """Returns the cell of the accuracies at the end of a run, which are shown and never ranked. The
    worst clients are those of the lowest decile."""
    names = ("test_accuracy", "test_accuracy_last_10", "client_accuracy_worst_decile")
    final, last, worst = (seen.row.measures[name] for name in names)
    notes = [f"last 10: {last.mean:.3f}" if last.n else "", f"worst {formats.interval(worst)}" if worst.n else ""]
    return Cell(formats.interval(final), notes, sort=final.mean)


def _worst(seen: Seen) -> Cell:
    value = seen.row.measures["client_accuracy_worst_decile"]
    return Cell(written.accuracy(value.mean, None), sort=value.mean)


def _computing(seen: Seen) -> Cell:
    """Returns the cell of the mean seconds of the machine, which are known if every record has
    them."""
    made = [one.wall_seconds for one in seen.row.made]
    known = [one for one in made if one is not None]
    mean = math.fsum(known) / len(known) if known and len(known) == len(made) else None
    return Cell(number(mean), sort=mean)


def _options(seen: Seen) -> str:
    return " ".join(f"{name}={formats.option(value)}" for name, value in sorted(seen.row.algorithm.options.items()))


def _remembers(seen: Seen) -> bool | None:
    return seen.entrant.facts.clients_remember if seen.entrant.facts else None


def _has_public_data(seen: Seen) -> bool:
    return "public_data" in (seen.entrant.facts or seen.entrant).requires


UP = "ascending"
LOST = ((number, "jobs_left", "{} left"), (number, "jobs_dropped_out", "{} dropped out"), (number, "jobs_late", "{} late"))
STEPS = ((number, "avoided_steps", "{} avoided"), (number, "gradient_evaluations", "{} gradients"))
DECLARED = (
    Column("algorithm", "Algorithm", _text(lambda seen: seen.row.label), ("Algorithm", "options on its page"), UP,
           is_number=False, is_shown=True, csv="algorithm"),
    Column("suite", "Suite", _text(lambda seen: seen.document.name), None, UP, is_number=False),
    Column("point", "Point", _text(lambda seen: seen.point), None, UP, is_number=False, csv="point"),
    Column("options_kind", "Options", _text(lambda seen: seen.kind), None, UP, is_number=False, csv="kind"),
    Column("system", "System", _text(lambda seen: (seen.standing and seen.standing.group) or NO_SYSTEM), None, UP,
           is_number=False, csv="system"),
    Column("cost", "Time to targets", _cost, ("Time to targets", "cost"), UP, is_shown=True, csv="cost_seconds"),
    Column("regret", "Ratio to the best", _on_board(_regret), None, UP, is_shown=True, csv="regret"),
    Column("in_set", "Best within noise", lambda seen: Cell("no board", value=False) if seen.standing is None else _in_set(seen.standing),
           is_number=False, is_shown=True, csv="in_set_of_the_best"),
    Column("gradients_to_targets", "Gradients to the targets", _spent(AXES[1]), None, UP, csv=f"cost_{AXES[1]}"),
    Column("bytes_to_targets", "Bytes to the targets", _spent(AXES[2]), None, UP, csv=f"cost_{AXES[2]}"),
    Column("at_work", "Clients at work", _on_board(lambda one: Cell(number(one.under_way), sort=one.under_way)), None, UP,
           csv="clients_at_work"),
    Column("solved", "Reached", _on_board(lambda one: Cell(percent(one.solved), sort=one.solved)), is_shown=True, csv="targets_held"),
    Column("accuracy", "Test accuracy", _accuracy, ("Test accuracy", ""), is_shown=True, csv="test_accuracy_at_horizon_mean"),
    Column("outcomes", "Outcome", _outcome, ("Outcome", "seeds, ended by"), UP, is_number=False, csv="outcomes"),
    Column("final_accuracy", "Accuracy at the end", _end, ("End of run", "final, worst clients"), csv="test_accuracy_mean"),
    Column("worst_clients", "Worst tenth of clients", _worst, csv="client_accuracy_worst_decile_mean"),
    Column("updates", "Updates", _measured(number, "updates"), ("Updates", "server"), csv="updates_mean"),
    Column("gradients", "Gradients, whole run", _measured(number, "gradient_evaluations"), None, UP, csv="gradient_evaluations_mean"),
    Column("lost", "Jobs lost or late", _measured(percent, "lost_share", *LOST), ("Lost or late", "of all jobs"), UP,
           csv="lost_share_mean"),
    Column("bytes", "Traffic, whole run", _measured(size, "traffic", (size, "bytes_wasted", "{} wasted")), ("Traffic", "up + down"), UP),
    Column("busy", "Busy", _measured(percent, "busy_fraction", (percent, "wasted_share", "{} in vain")), ("Busy", "clients"),
           csv="busy_fraction_mean"),
    Column("staleness", "Staleness", _measured(number, "staleness_mean", (number, "staleness_max", "max {}")), ("Staleness", "mean"), UP,
           csv="staleness_mean_mean"),
    Column("steps", "Local steps", _measured(number, "trained_steps", *STEPS), ("Local steps", "trained"), UP, csv="trained_steps_mean"),
    Column("wall_seconds", "Seconds to compute", _computing, None, UP),
    Column("family", "Family", _text(lambda seen: seen.entrant.family), None, UP, is_number=False),
    Column("clients_remember", "Clients keep state", _yes(_remembers), None, UP, is_number=False),
    Column("public_data", "Public data", _yes(_has_public_data), None, UP, is_number=False),
    Column("validity", "Validity", _text(lambda seen: seen.row.validity), None, UP, is_number=False, csv="validity"),
    Column("options", "All options", _text(_options), None, UP, is_number=False, csv="options"),
)  # fmt: skip
"""The columns, but for those of targets. They stand after the accuracy."""


def of_page(scenario: Section, axis: Axis, *, has_board: bool) -> Iterator[Column]:
    """Yields the columns of the table of a scenario. The cost needs a board."""
    place, spent = scenario.horizon.at, formats.TO_TARGET[axis.name]
    where = "not compared" if place is None else f"at {written.place(place, axis.unit)}, mean {written.PLUS_MINUS} 95 %"
    shown = {"cost": has_board, "lost": any(row.loses_jobs for row in scenario.rows)}
    for one in DECLARED:
        if one.page is not None and shown.get(one.name, True):
            yield replace(one, page=(one.page[0], where)) if one.name == "accuracy" else one
        if one.name == "accuracy":
            for i, goal in enumerate(scenario.targets):
                heading = f"{spent} to {formats.goal(goal.metric, goal.value)}", "median (seeds that reach it)"
                yield Column("to_target", "", _to_target(i, axis), heading, UP)


def of_table(targets: Iterable[float]) -> Iterator[Column]:
    """Yields the columns of the table of all rows. What rows say on targets is a list of its own in
    the table's data."""
    for one in DECLARED:
        yield one
        if one.name == "accuracy":
            for target in targets:
                title = f"{written.targets([target])}: seeds, median s"
                yield Column(f"to_{target}", title, lambda seen: Cell(written.NONE), None, UP, target=target)


def _to_target(i: int, axis: Axis) -> Say:
    """Returns what makes the cell of a target: when it is held."""

    def cell(seen: Seen) -> Cell:
        value = seen.row.to_target[i]
        return Cell(formats.hits(value, axis), [formats.hits_note(value, axis)], sort=value.median)

    return cell
