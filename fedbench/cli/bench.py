"""`fedbench bench`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer

from fedbench.bench import GROUPS, host, select, table
from fedbench.bench.case import AnyCase
from fedbench.bench.compare import THRESHOLD, Change, compare
from fedbench.bench.measure import measure
from fedbench.bench.report import Row, libraries, load, load_all, rows, save
from fedbench.cli import completion
from fedbench.cli.options import JsonOption
from fedbench.cli.output import err, print_json, print_table, say, show
from fedbench.errors import UsageError, quoted
from fedbench.kernels import build_info
from fedbench.results.provenance import library_versions, provenance

RIVALS = ("flgo", "jax", "pfl", "simpy")


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="CASE", help="Cases or groups. Default: all.", autocompletion=completion.cases),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help=f"Group of cases: {', '.join(GROUPS)}.", autocompletion=completion.groups)
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Also measure the heavy cases, such as a plan of ten million jobs.")
    ] = False,
    rounds: Annotated[int, typer.Option(help="Number of samples of each library, taken in turns.", min=3)] = 9,
    threads: Annotated[
        int,
        typer.Option(
            help="Threads of a torch operation. Our kernels use one, or two in cases named -2w and in whole runs.", min=1
        ),
    ] = 1,
    as_json: JsonOption = False,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="File to save the rows to, with quartiles and provenance.")
    ] = None,
    read: Annotated[
        list[Path] | None, typer.Option("--read", help="Saved file to take rows from; nothing is measured. Can be repeated.")
    ] = None,
    pages: Annotated[
        list[Path] | None, typer.Option("--table", help="Markdown page that gets the table, between its marks. Can be repeated.")
    ] = None,
    files: Annotated[
        tuple[Path, Path] | None, typer.Option("--compare", help="Two saved files, before and after; nothing is measured.")
    ] = None,
    threshold: Annotated[float, typer.Option(help="Slowdown that --compare reports.", min=1.0)] = THRESHOLD,
) -> None:
    """Measure the speed of the core against other libraries.

    All of them are checked to compute the same. The ratio is their time over ours, the median over
    rounds. The exit code is 1 if --compare finds a slower case.
    """
    if files is not None:
        return _compare(files, threshold, as_json)
    for page in pages or ():
        table.parts(page)  # before hours are spent
    found, where = load_all(read) if read else _measured(select(names or (), group, heavy=full), rounds, threads, as_json)
    if not as_json:
        _show(found, where)
    elif read:
        print_json(*(row.public() for row in found))
    if save_to is not None:
        save(save_to, found, where)
    for page in pages or ():
        table.put(page, table.markdown(found, where))
    return None


def _measured(cases: Sequence[AnyCase], rounds: int, threads: int, as_json: bool) -> tuple[list[Row], dict[str, object]]:
    """Measures the cases one after the other, and returns their rows and provenance."""
    if settings := host.allocator_settings():
        show(f"starting again with an allocator that keeps its memory: {settings}")
        host.start_again()
    host.set_threads(threads, cases)
    found = []
    for number, case in enumerate(cases, 1):
        with err.status(f"{case.name} ({number} of {len(cases)})"):
            result = measure(case, case.size, rounds)
            memory = host.peak_mb(case) if case.memory and case.ours in result.seconds else None
        for row in rows(case, result, threads, memory):
            found.append(row)
            if as_json:
                print_json(row.public())
    return found, _provenance(rounds, threads)


def _show(found: Sequence[Row], where: Mapping[str, object]) -> None:
    lines = [
        (row.case, row.versus, _number(row.ratio), _quartiles(row), _time(row.ours_us), _time(row.theirs_us), row.note)
        for row in found
    ]  # fmt: skip
    title = f"ratio = theirs / ours; {where.get('rounds')} rounds, torch threads: {where.get('threads')}"
    print_table(title, ["case", "versus", "ratio", "quartiles", "ours", "theirs", ""], lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _quartiles(row: Row) -> str:
    return "" if row.low is None else f"{_number(row.low)}-{_number(row.high)}"


def _time(us: float | None) -> str:
    return "" if us is None else table.seconds(us)


def _provenance(rounds: int, threads: int) -> dict[str, object]:
    where = provenance(
        build_info(), rounds=rounds, threads=threads, allocator=host.MALLOC, cores=os.cpu_count(), load=os.getloadavg()[0]
    )
    libraries = dict(library_versions())
    for name in RIVALS:
        with contextlib.suppress(PackageNotFoundError):
            libraries[name] = version(name)
    return where | {"libraries": libraries}


def _compare(files: tuple[Path, Path], threshold: float, as_json: bool) -> None:
    """Shows how two saved files differ. Exits with 1 if a case is slower."""
    (before, origin), (after, now) = (load(file) for file in files)
    for name in ("cpu", "threads"):
        if origin.get(name) != now.get(name):
            show(f"the two files differ in {name}: {quoted(origin.get(name))} and {quoted(now.get(name))}")
    changes = compare(before, after, (libraries(origin), libraries(now)), threshold)
    if all(change.slowdown is None for change in changes):
        raise UsageError(f"{files[0]}, {files[1]}: expected a case that both measured beside the same rival, found none")
    if as_json:
        print_json(*map(asdict, changes))
    else:
        _show_changes(changes, threshold)
    if any(change.verdict == "slower" for change in changes):
        raise typer.Exit(1)


def _show_changes(changes: Sequence[Change], threshold: float) -> None:
    lines = [
        (c.case, c.verdict, "" if c.slowdown is None else f"{c.slowdown:.2f} ({c.low:.2f}-{c.high:.2f})", c.note)
        for c in changes
    ]  # fmt: skip
    print_table("after / before, in units of the rivals' time", ["case", "verdict", "slowdown", ""], lines)
    slower = [change.case for change in changes if change.verdict == "slower"]
    say(f"slower by more than {threshold:g}: {', '.join(slower) or 'none'}")
