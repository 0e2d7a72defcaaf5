"""Saved rows as a table: in Markdown between two marks of a page, and as cells for other pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fedbench import plain_files
from fedbench.bench.event_queue import CALIBRATION
from fedbench.bench.report import Row, libraries
from fedbench.errors import UsageError

BEGIN, END = "<!-- fedbench bench --table -->", "<!-- end of the table -->"
HEAD = ("case", "fedbench", "beside", "takes", "ratio, least to most", "asked of the fastest")
LARGEST = 4 << 20  # bytes of a page


def seconds(microseconds: float) -> str:
    """Returns a time with its unit and three digits."""
    for unit, scale in (("µs", 1.0), ("ms", 1e3)):
        if microseconds < 999.5 * scale:
            return f"{microseconds / scale:.3g} {unit}"
    return f"{microseconds / 1e6:.3g} s"


def about(provenance: Mapping[str, object]) -> str:
    """Returns on what was measured, and how."""
    versions, load = libraries(provenance), provenance.get("load")
    known = [f"{name} {versions[name]}" for name in ("torch", "jax", "pfl", "flgo") if name in versions]
    where = [f"{provenance.get('cpu')}, {provenance.get('cores')} cores", str(provenance.get("instruction_set")), *known]
    busy = f", under a load of {load:.1f}" if isinstance(load, float) else ""
    taken = f"medians of {provenance.get('rounds')} rounds in turns, at commit {str(provenance.get('commit'))[:10]}{busy}"
    return f"{', '.join(where)}; {taken}"


def cells(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Returns the rows of the table below HEAD, without the calibration, which does no case's work.
    What was asked stands beside the fastest way of a case, with whether it was reached."""
    rows = [row for row in rows if row.versus != CALIBRATION.name]
    fastest = {row.case: row for row in sorted(rows, key=lambda row: row.theirs_us or 0, reverse=True) if row.theirs_us}
    return [_cells(row, fastest=fastest.get(row.case) is row) for row in rows]


def _cells(row: Row, fastest: bool) -> tuple[str, ...]:
    if row.ratio is None or row.ours_us is None or row.theirs_us is None:
        return (row.case, "", row.versus, row.note, "", "")
    compiled = "" if row.compile_seconds is None else f", after compiling for {row.compile_seconds:.2g} s"
    span = "" if row.least is None else f" ({row.least:.3g} to {row.most:.3g})"
    asked = "" if row.asked is None or not fastest else f"{row.asked:g}: {'' if row.ratio >= row.asked else 'not '}reached"
    return (row.case, seconds(row.ours_us), row.versus, f"{seconds(row.theirs_us)}{compiled}", f"{row.ratio:.3g}{span}", asked)


def markdown(rows: Sequence[Row], provenance: Mapping[str, object]) -> str:
    lines = [HEAD, ("---",) * len(HEAD), *cells(rows)]
    return "\n".join([f"{about(provenance)}.", "", *(f"| {' | '.join(line)} |" for line in lines)])


def parts(page: Path) -> tuple[str, str]:
    """Returns what stands before and after the table of a page, with the marks. UsageError if it
    lacks one."""
    before, begin, rest = plain_files.text(page, LARGEST, "table").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError(f"table {page}: expected the lines {BEGIN} and {END}, between which the table belongs")
    return before + begin, end + after


def put(page: Path, text: str) -> None:
    """Puts a text between the marks of a page. UsageError if it lacks one, or cannot be written."""
    before, after = parts(page)
    try:
        page.write_text(f"{before}\n{text}\n{after}", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{page}: cannot be written: {error.strerror}") from None
