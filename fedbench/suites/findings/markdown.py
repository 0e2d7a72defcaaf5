"""Numbers, intervals and tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from fedbench.analysis.bootstrap import Interval


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def seconds(value: float | None) -> str:
    """Returns a time with one digit after the point, nothing for None."""
    return "" if value is None else f"{value:.1f}"


def interval(found: Interval | None, scale: float = 1, bound: str = "") -> str:
    """Returns a value and its interval with two digits after the point, or with none if it is
    scaled; nothing for None. `bound` is the sign that stands before it, see `numbers.bound`."""
    if found is None:
        return ""
    digits = 2 if scale == 1 else 0
    middle, low, high = (f"{scale * value:.{digits}f}" for value in found)
    return f"{bound}{' ' if bound else ''}{middle} [{low}, {high}]"
