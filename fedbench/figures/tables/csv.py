"""Writes the lines of boards as CSV: one for each row, point and target, with all digits.

point, algorithm             which row; `reference` is 1 for one that is not ranked
target                       a test accuracy; empty for all targets of the point together
seconds, half_width          mean virtual seconds over seeds and their 95 % interval; a miss counts with the budget
lower_bound                  1 if something was missed, so that `seconds` says too little
hits, attempts               of seeds, or of pairs of a seed and a target
median_seconds               Kaplan-Meier's; empty if fewer than half arrive, and for all targets together
bytes                        mean traffic until then; empty unless every seed arrives, and for all targets together
place                        of the tie class at the point, from 0; empty for a reference
first                        1 for the earliest row of the point and for all that the seeds cannot tell from it
first_like_for_like          the same among the rows without an advantage; empty where that is not known
seeds, unfinished            runs, and those of them that diverged, stalled or failed
advantages                   what the row has by definition beyond the others, by semicolons
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from fedbench.analysis.board_table import BoardLine

COLUMNS = (
    "point", "algorithm", "reference", "target", "seconds", "half_width", "lower_bound", "hits", "attempts", "median_seconds", "bytes",
    "place", "first", "first_like_for_like", "seeds", "unfinished", "advantages",
)  # fmt: skip


def as_csv(lines: Sequence[BoardLine], head: Sequence[str], advantages: Mapping[str, Sequence[str]]) -> str:
    """Returns the CSV of some lines.

    Args:
        lines: the lines of the boards.
        head: comments, which are written above the lines and begin with #.
        advantages: what a row has beyond the others, by row.
    """
    content = io.StringIO()
    for line in head:
        content.write(f"# {line}\n")
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_values(line, advantages) for line in lines)
    return content.getvalue()


def _values(line: BoardLine, advantages: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns the values of a row in the order of COLUMNS."""
    values = (
        line.point, line.row, line.place is None, line.target, line.mean, line.half_width, line.is_bound, line.hits, line.attempts,
        line.median, line.bytes, line.place, line.first, line.first_alike, line.seeds, line.unfinished,
        "; ".join(advantages.get(line.row, ())),
    )  # fmt: skip
    return [_text(value) for value in values]


def _text(value: bool | float | str | None) -> str:
    """Returns a number with all of its digits, 1 or 0 for a bool, and nothing for None."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
