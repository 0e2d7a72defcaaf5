"""What a race says of targets that no row holds, and of rows that are in no set of the best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from fedbench import written
from fedbench.analysis import metrics
from fedbench.analysis.costs import TOO_EARLY, Costs, Flags
from fedbench.analysis.gathered import Rows
from fedbench.results.record import Record
from fedbench.scenarios.schema import ACCURACY
from fedbench.suites.race.judging import on_boards

PERCENT = 100.0


def of_targets(groups: Sequence[Rows]) -> Iterator[str]:
    """Yields in words, by the first runs of every group, which targets get no verdict, and whether
    no row holds one that does."""
    found = [(rows, list(on_boards(rows).values())) for rows in groups]
    boards = [costs for _, several in found for costs in several]
    known = {target for costs in boards for target in costs.targets}
    runs = [(run, bool(several)) for rows, several in found for of_row in rows.values() for run in of_row]
    for target in runs[0][0].spec.scenario.compared if runs else ():
        if float(target.value) not in known:
            words = metrics.in_words(target.metric, target.value)
            yield f"target {words} gets no verdict: it is {TOO_EARLY}"
    if boards and all(costs.missed.all() for costs in boards):
        yield f"no row holds a target that gets a verdict; {nearest_miss([run for run, has_verdict in runs if has_verdict])}"


def nearest_miss(runs: Sequence[Record]) -> str:
    """Returns in words how near runs came to a target, which none of them holds."""
    finished, count = [run for run in runs if run.state == "finished"], written.counted(len(runs), "run")
    if not finished:
        return f"none of {count} finished"
    scenario = finished[0].spec.scenario
    metric = scenario.compared[0].metric
    sign = scenario.sign(metric)
    best = sign * max(float(np.nanmax(sign * metrics.values(run, metric))) for run in finished)
    trained = "" if any(run.final.version for run in finished) else ", and none of them made an update"
    value = f"{written.tenths(PERCENT * best)} %" if metric == ACCURACY else f"{metric} {best:.4g}"
    return f"{value} is the best of {count}{trained}"


def unranked(runs: Rows, costs: Costs, shown: Iterable[str]) -> dict[str, str]:
    """Returns the rows that are left and are in no set of the best, with the reason.

    Args:
        runs: of the rows that are left, of the same seeds.
        costs: theirs, at the targets that get a verdict.
        shown: the rows in a set.
    """
    known = {*shown}
    return {row: _why(runs[row], costs.missed[:, k]) for k, row in enumerate(costs.rows) if row not in known}


def _why(runs: Sequence[Record], missed: Flags) -> str:
    for state in ("diverged", "stalled"):
        if count := sum(run.state == state for run in runs):
            return f"{count} of {written.counted(len(runs), 'run')} {state}"
    return "it holds no target" if missed.all() else "by first touch, or by the level of a look, it may be the best"
