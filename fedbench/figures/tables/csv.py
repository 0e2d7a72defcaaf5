"""Writes the lines of boards as CSV: one for each row, point and target, with all digits.

point, algorithm             which row
system                       how many clients may be at work, and public data; empty for a reference, which is not compared
target                       a test accuracy, or a value of the metric of the board; empty for all targets with a verdict together
verdict                      1 if the target, or one of them, gets a verdict
seconds                      the cost: geometric mean of virtual seconds over seeds, and over targets
lower_bound                  1 if something was missed, so that `seconds` says too little
hits, attempts               pairs of a seed and a target
median_seconds               Kaplan-Meier's; empty if fewer than half arrive, and for all targets together
regret                       the cost over that of the cheapest row of the system; for all targets together only
regret_low, regret_high      its 95 % interval; the end is empty if it is not known
in_set                       1 if the row is in the set of the best of its system; for all targets together only
gradients, bytes             the cost on the other axes; empty without a verdict, and for one target if a seed misses
at_work                      the mean number of clients at work
seeds, unfinished            runs, and those of them that diverged or stalled

The lines of a metric have other columns, one line for each row and point:

metric, axis, at             what is read, and where: the place on the axis
mean, half_width, std        over seeds; the 95 % interval is mean +- half_width
seeds, missing               seeds with a value, and without one
standing                     best, tied, behind, ahead, unknown or reference, as `records.standings()` has it
difference                   to the best mean of the system over common seeds, with the half-width of its interval
left_out                     why the row is not compared
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence

from fedbench.analysis.board_table import BoardLine
from fedbench.analysis.metric_table import MetricLine

Value = bool | float | str | None


def as_csv(lines: Sequence[BoardLine], head: Sequence[str]) -> str:
    """Returns the CSV of some lines. `head` has comments, which are written above the lines and
    begin with #."""
    return _written([_row(line) for line in lines], head)


def metric_csv(lines: Sequence[MetricLine], head: Sequence[str]) -> str:
    """Returns the CSV of the lines of a metric, of which there is at least one."""
    return _written([_metric_row(line) for line in lines], head)


def _written(rows: Sequence[Mapping[str, Value]], head: Sequence[str]) -> str:
    content = io.StringIO()
    for line in head:
        content.write(f"# {line}\n")
    writer = csv.writer(content, lineterminator="\n")
    writer.writerows([list(rows[0]), *(map(_text, row.values()) for row in rows)])
    return content.getvalue()


def _row(line: BoardLine) -> dict[str, Value]:
    """Returns a row by column."""
    regret, low, high = line.regret or (None, None, None)
    return {
        "point": line.point, "algorithm": line.row, "system": line.system, "target": line.target, "verdict": line.has_verdict,
        "seconds": line.cost, "lower_bound": line.is_bound, "hits": line.hits, "attempts": line.attempts, "median_seconds": line.median,
        "regret": regret, "regret_low": low, "regret_high": high, "in_set": line.is_best if line.target is None else None,
        "gradients": line.gradients, "bytes": line.bytes, "at_work": line.at_work, "seeds": line.seeds, "unfinished": line.unfinished,
    }  # fmt: skip


def _metric_row(line: MetricLine) -> dict[str, Value]:
    found, compared = line.estimate, line.comparison
    return {
        "point": line.point, "algorithm": line.row, "system": line.system, "metric": line.metric, "axis": line.axis.name, "at": line.at,
        "mean": found.mean, "half_width": found.half_width, "std": found.std, "seeds": found.n, "missing": found.missing,
        "standing": compared.standing, "difference": compared.difference, "difference_half_width": compared.half_width,
        "left_out": line.left_out,
    }  # fmt: skip


def _text(value: Value) -> str:
    """Returns a number with all of its digits, 1 or 0 for a bool, and nothing for None and for what
    is not finite."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return str(int(value)) if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
