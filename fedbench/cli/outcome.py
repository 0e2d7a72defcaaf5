"""The end of `fedbench run`: which algorithm held which target, when, and at what cost."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from fedbench import written
from fedbench.analysis.axes import AXES
from fedbench.analysis.hits import hits
from fedbench.analysis.reaching import Goal
from fedbench.analysis.rows import Row
from fedbench.analysis.summary import summarize
from fedbench.cli.output import print_table, show, show_next
from fedbench.launch.records import Records
from fedbench.scenarios.schema import Scenario

COSTS = {"seconds": "time", "updates": "updates", "gradient_evaluations": "gradients", "bytes": "traffic"}
"""What a run spends, by axis, and the columns that show it."""
STORE = Path("runs")
MOST = 12
"""So many lines has a table at most."""
HELD = (
    "held: the seeds that stayed at or above the target for 20 % of the time",
    "costs until then: medians over seeds, or > a bound if too few seeds held it",
)
ALWAYS = "time: virtual; traffic: up and down; final {}: mean, 95 % interval"


def print_outcome(records: Records, store: Path) -> None:
    """Prints a table for each scenario of the records, of which there is at least one. Explains its
    words, names the store, and shows what can be typed next, all of that on standard error."""
    found = summarize(records)
    order = [*dict.fromkeys(record.selector for record in records)]
    has_targets = any(one.scenario.targets for one in found)
    where = [] if store == STORE else ["--store", str(store)]
    cut = False
    for one in found:
        rows, targets = _fitting(sorted(one.rows, key=lambda row: order.index(row.runs[0].selector)), one.scenario)
        cut |= len(rows) * len(targets or [0]) < len(one.rows) * len(one.scenario.targets or [0])
        lines = [line for row in rows for line in _lines(row, targets, one.scenario.judged_by)]
        columns = [*dict.fromkeys(name for line in lines for name in line)]
        print_table(one.full_name, columns, [[line.get(name, "") for name in columns] for line in lines])
    if cut:
        kind = [] if has_targets else ["--metric", found[0].scenario.judged_by]
        show(f"cut to {MOST} lines: the last target, who holds it first; all: {shlex.join(['fedbench', 'table', *kind, *where])}")
    less = any(one.scenario.sign(target.metric) < 0 for one in found for target in one.scenario.targets)
    ends = [*dict.fromkeys(one.scenario.judged_by.removeprefix("test_") for one in found)]
    for note in [*(HELD if has_targets else ()), ALWAYS.format(" and ".join(ends))]:
        show(note.replace("at or above the target", "at the target or better") if less else note)
    show(f"{written.counted(len(records), 'record')} in {store}")
    pair = [["compare", *order[:2]]] if has_targets and len(order) > 1 else []
    show_next(*(shlex.join(["fedbench", *words, *where]) for words in [["leaderboard", "build"], *pair]))


def _fitting(rows: Sequence[Row], scenario: Scenario) -> tuple[Sequence[Row], Sequence[Goal]]:
    """Returns what fits into MOST lines: all rows and targets, or all rows with the last target, or
    those rows that hold it with the most seeds and soonest. Without targets the most accurate
    ones are taken."""
    targets, judged_by = scenario.targets, scenario.judged_by
    sign = scenario.sign(judged_by)
    if len(rows) * len(targets or [0]) <= MOST:
        return rows, targets
    if len(rows) <= MOST:
        return rows, targets[-1:]

    def key(row: Row) -> tuple[float, float]:
        if not targets:
            mean = row.measures[judged_by].mean
            return math.inf if mean is None else -sign * mean, 0.0
        last = row.to_target[-1]
        return -last.hits / last.total, math.inf if last.median is None else last.median

    return sorted(rows, key=key)[:MOST], targets[-1:]


def _lines(row: Row, targets: Sequence[Goal], judged_by: str) -> Iterator[dict[str, str]]:
    """Yields the cells of a row by column: in a line for each target or, without targets, in one
    line that has what whole runs spent."""
    from fedbench.leaderboard import formats  # the other verbs start faster without it

    means = {name: value.mean for name, value in row.measures.items()}
    at_end = row.measures[judged_by]
    end = {"final accuracy": formats.interval(at_end)}
    if judged_by != "test_accuracy":
        end = {"final loss": written.NONE if at_end.mean is None else written.measured(at_end.mean, at_end.half_width)}
    if set(row.outcomes) != {"finished"}:
        end["outcome"] = formats.outcomes(row.outcomes)
    if not targets:
        spent = {"updates": written.number(means["updates"]), "gradients": written.number(means["gradient_evaluations"])}
        yield {"algorithm": row.selector, **spent, "traffic": written.size(formats.traffic(means)), **end}
    for target in targets:
        found = {axis: hits(row.runs, target, axis) for axis in COSTS}
        held = found["seconds"]
        goal = formats.goal(held.metric, held.target)
        costs = {COSTS[axis]: written.median(one.median, one.beyond, AXES[axis].unit) for axis, one in found.items()}
        yield {"algorithm": row.selector, "target": goal, "held": f"{held.hits}/{held.total}", **costs, **end}
