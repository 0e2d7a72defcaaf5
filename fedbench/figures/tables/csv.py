"""Writes the lines of boards as CSV: one for each row, point and target, with all digits.

point, algorithm             which row
system                       how many clients may be at work, and public data; empty for a reference, which is not compared
target                       a test accuracy; empty for all targets with a verdict together
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
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from fedbench.analysis.board_table import BoardLine

Value = bool | float | str | None


def as_csv(lines: Sequence[BoardLine], head: Sequence[str]) -> str:
    """Returns the CSV of some lines. `head` has comments, which are written above the lines and
    begin with #."""
    content = io.StringIO()
    for line in head:
        content.write(f"# {line}\n")
    writer = csv.writer(content, lineterminator="\n")
    rows = [_row(line) for line in lines]
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


def _text(value: Value) -> str:
    """Returns a number with all of its digits, 1 or 0 for a bool, and nothing for None and for what
    is not finite."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return str(int(value)) if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
