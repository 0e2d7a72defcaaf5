"""Numbers, intervals and tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from fedbench.analysis.bootstrap import Interval


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def seconds(value: float | None, *, is_bound: bool = False) -> str:
    """Returns a time with three digits and its unit, nothing for None."""
    return "" if value is None else f"{'≥ ' if is_bound else ''}{digits(value)} s"


def digits(value: float) -> str:
    """Returns a number with three significant digits, never in powers of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def interval(found: Interval | None, bound: str = "") -> str:
    """Returns a value and its interval with two digits after the point; nothing for None. `bound`
    is the sign that stands before it. An interval without width says nothing and is left out."""
    if found is None:
        return ""
    if found.low == found.high:
        return f"{bound}{' ' if bound else ''}{found.value:.2f}"
    return f"{bound}{' ' if bound else ''}{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
