"""`fedbench compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.analysis.duel import duel, sentence
from fedbench.analysis.summary import summarize
from fedbench.cli.options import JsonOption
from fedbench.cli.output import print_json, say
from fedbench.errors import UsageError, nearest
from fedbench.launch.records import records_in
from fedbench.results.record import Record
from fedbench.suites import suite as suites
from fedbench.suites import tuned
from fedbench.suites.seats import seats

Rows = dict[str, dict[str, list[Record]]]


def command(
    first: Annotated[str, typer.Argument(help="A row: an algorithm as its records name it; with --suite also 'NAME (tuned)'.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
    records: Annotated[Path, typer.Option("--records", "-r", help="A store, or an archive of a suite.")] = Path("runs"),
    suite: Annotated[str | None, typer.Option(help="Name the scenarios as this suite does.")] = None,
    options: Annotated[Path | None, typer.Option("--tuned", help="File of the suite's tuned options.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say which of two algorithms reaches the targets earlier.

    Times are compared seed by seed; a miss counts with the time budget. How sure it is: the
    intervals of all lines hold together at 95 %.
    """
    if options is not None and suite is None:
        raise UsageError("compare: --tuned names the options of a suite; say which with --suite")
    given = records_in(records, check=False)
    rows = _of_suite(suite, options, given) if suite is not None else _of_scenarios(given)
    known = sorted({name for by_name in rows.values() for name in by_name})
    for name in (first, second):
        if name not in known:
            raise UsageError(f"compare: {records} has no row {name!r}{nearest(name, known)}")
    both = {where: (by_name[first], by_name[second]) for where, by_name in rows.items() if first in by_name and second in by_name}
    for one in duel(both):
        if as_json:
            print_json(
                {
                    "scenario": one.scenario,
                    "target": one.target,
                    "verdict": one.verdict,
                    "first": vars(one.first),
                    "second": vars(one.second),
                    "difference": one.pair.difference,
                    "half_width": one.pair.half_width,
                    "level": one.pair.level,
                    "p_adjusted": one.pair.p_adjusted,
                    "resolution": one.resolution,
                }
            )
        else:
            say(sentence(one, first, second))


def _of_suite(name: str, options: Path | None, given: list[Record]) -> Rows:
    found = suites.load(name)
    rows = seats(found, None if options is None else tuned.read(options, found), given)
    if not rows:
        raise UsageError(f"compare: none of the records is a run of suite {found.name}")
    return rows


def _of_scenarios(given: list[Record]) -> Rows:
    return {one.full_name: {row.selector: list(row.runs) for row in one.rows} for one in summarize(given)}
