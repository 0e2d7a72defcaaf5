"""The end of `fedbench run`: which algorithm held which target, when, and at what cost."""

from __future__ import annotations

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

COSTS = {"seconds": "time", "updates": "updates", "gradient_evaluations": "gradients", "bytes": "traffic"}
"""What a run spends, by axis, and the columns that show it."""
STORE = Path("runs")
HELD = (
    "held: the seeds that stayed at or above the target for 20 % of the time",
    "costs until then: medians over seeds, or > a bound if too few seeds held it",
)
ALWAYS = "time: virtual; traffic: up and down; final accuracy: mean, 95 % interval"


def print_outcome(records: Records, store: Path) -> None:
    """Prints a table for each scenario of the records, of which there is at least one. Explains its
    words, names the store, and shows what can be typed next, all of that on standard error."""
    found = summarize(records)
    order = [*dict.fromkeys(record.selector for record in records)]
    has_targets = any(one.scenario.targets for one in found)
    for one in found:
        rows = sorted(one.rows, key=lambda row: order.index(row.selector))
        lines = [line for row in rows for line in _lines(row, one.scenario.targets)]
        columns = [*dict.fromkeys(name for line in lines for name in line)]
        print_table(one.full_name, columns, [[line.get(name, "") for name in columns] for line in lines])
    for note in [*(HELD if has_targets else ()), ALWAYS]:
        show(note)
    show(f"{written.counted(len(records), 'record')} in {store}")
    where = [] if store == STORE else ["--store", str(store)]
    pair = [["compare", *order[:2]]] if has_targets and len(order) > 1 else []
    show_next(*(shlex.join(["fedbench", *words, *where]) for words in [["leaderboard", "build"], *pair]))


def _lines(row: Row, targets: Sequence[Goal]) -> Iterator[dict[str, str]]:
    """Yields the cells of a row by column: in a line for each target or, without targets, in one
    line that has what whole runs spent."""
    from fedbench.leaderboard import columns, formats  # the other verbs start faster without it

    means = {name: value.mean for name, value in row.measures.items()}
    end = {"final accuracy": formats.interval(row.measures["test_accuracy"])}
    if set(row.outcomes) != {"finished"}:
        end["outcome"] = formats.outcomes(row.outcomes)
    if not targets:
        spent = {"updates": written.number(means["updates"]), "gradients": written.number(means["gradient_evaluations"])}
        yield {"algorithm": row.selector, **spent, "traffic": written.size(columns.traffic(means)), **end}
    for target in targets:
        found = {axis: hits(row.runs, target, axis) for axis in COSTS}
        held = found["seconds"]
        goal = formats.goal(held.metric, held.target)
        costs = {COSTS[axis]: written.median(one.median, one.beyond, AXES[axis].unit) for axis, one in found.items()}
        yield {"algorithm": row.selector, "target": goal, "held": f"{held.hits}/{held.total}", **costs, **end}
