"""Where `plot` and `table` take their rows from: a suite, an archive or a store."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fedbench.analysis.metrics import about
from fedbench.cli import completion
from fedbench.cli.options import ARCHIVES, TUNED
from fedbench.errors import UsageError, nearest
from fedbench.launch.records import records_in
from fedbench.results.record import Record
from fedbench.suites import suite as suites
from fedbench.suites import tuned
from fedbench.suites.compared import Compared, of_records, of_suite
from fedbench.suites.findings.results import Results, load
from fedbench.suites.race import decisions
from fedbench.suites.seats import seats
from fedbench.suites.suite import Suite

KINDS = ("tuned", "default")
STORE = Path("runs")

RecordsOption = Annotated[
    Path | None,
    typer.Option("--records", "--store", "-r", help="Store, or archive of a suite. Default: runs, or with --suite its archive."),
]
SuiteOption = Annotated[str | None, typer.Option(help="Suite whose rows and points are taken.", autocompletion=completion.suites)]
PointsOption = Annotated[
    list[str] | None, typer.Option("--point", "-p", help="Only this point, or this scenario of a store. Can be repeated.")
]
RowsOption = Annotated[
    list[str] | None,
    typer.Option("--algorithm", "-a", help="Row. Can be repeated.", autocompletion=completion.algorithms),
]
OptionsOption = Annotated[
    str | None, typer.Option(help="Rows of a suite with tuned or with default options. Default: tuned, if there are any.")
]


@dataclass(frozen=True)
class Source:
    """The options of the command line that say where rows come from.

    `kind`: tuned or default options; None stands for tuned ones if there are any, else default
    ones. `metric`: the one whose targets are compared; None stands for test accuracy, or for the
    metric that a scenario has targets in.
    """

    records: Path | None = None
    suite: str | None = None
    points: Sequence[str] = ()
    kind: str | None = None
    tuned_in: Path = TUNED
    archives: Path = ARCHIVES
    metric: str | None = None

    def __post_init__(self) -> None:
        if self.kind == "published":
            raise UsageError("--options published: these rows are called default now; write --options default")
        if self.kind is not None and self.kind not in KINDS:
            raise UsageError(f"--options must be one of {', '.join(KINDS)}, got {self.kind!r}{nearest(self.kind, KINDS)}")
        if self.metric is not None and self.suite is not None:
            raise UsageError("--metric chooses targets of records; rows of a suite are compared by their test accuracy")
        if self.kind is not None and self.suite is None:
            raise UsageError("--options chooses rows of a suite; say which with --suite")

    def given_suite(self) -> Suite:
        """Returns the suite. UsageError if none is named."""
        if self.suite is None:
            raise UsageError("expected --suite, which says what is tried where; the records of a store do not")
        return suites.load(self.suite)

    def compared(self) -> Compared:
        """Returns the rows of the points that are asked for, or of all points. Reads all
        records."""
        if self.suite is not None:
            return self._of_suite(suites.load(self.suite))
        place = self.records or Path(os.environ.get("FEDBENCH_STORE") or STORE)
        return of_records(self._about(records_in(place), place), f"records {place}").at(self.points)

    def _about(self, records: list[Record], place: Path) -> list[Record]:
        """Returns the records with the targets in the metric that is asked for. UsageError if there
        are none."""
        known = list(dict.fromkeys(one.metric for record in records for one in record.spec.scenario.targets))
        if self.metric is None:
            return records
        if self.metric not in known:
            raise UsageError(
                f"--metric: expected one that records {place} have targets in, {', '.join(known) or 'which is none'}, got {self.metric!r}"
                f"{nearest(self.metric, known)}"
            )
        return about(records, self.metric)

    def _of_suite(self, suite: Suite) -> Compared:
        names = [suite.point(name).name for name in self.points] or [point.name for point in suite.points]
        found = (
            _loaded(self.suite or suite.name, self.tuned_in, self.archives)
            if self.records is None
            else self._seated(suite, self.records)
        )
        is_tuned = self.kind == "tuned" or (self.kind is None and bool(found.complete(tuned=True)))
        rows = of_suite(found, tuned=is_tuned)  # of all points, since they tell how much rows scatter
        return rows.at([name for name in names if name in rows.rows] or names)

    def _seated(self, suite: Suite, place: Path) -> Results:
        frozen = self.frozen(suite)
        found = seats(suite, frozen, records_in(place))
        if not found:
            raise UsageError(f"records {place}: none is a run of suite {suite.name}")
        race = None if suite.race is None else decisions.read(place, suite, frozen)
        return Results(suite, frozen, found, race=race)

    def frozen(self, suite: Suite) -> tuned.Tuned | None:
        """Returns the tuned options of a suite; None if it has none, or if default ones are asked
        for."""
        if suite.tuning is None or self.kind == "default":
            return None
        file = self.tuned_in / f"{suite.name}.yaml"
        return tuned.read(file, suite) if self.kind == "tuned" or file.exists() else None

    def words(self) -> list[tuple[str, object]]:
        """Returns the options that were given and their values, for `told`."""
        own: list[tuple[str, object]] = [("--records", self.records), ("--suite", self.suite)]
        own += [("--point", point) for point in self.points]
        own += [("--options", self.kind)]
        defaults: Mapping[str, tuple[Path, Path]] = {
            "--tuned-in": (self.tuned_in, TUNED),
            "--archives": (self.archives, ARCHIVES),
        }
        return [*own, *((name, value) for name, (value, default) in defaults.items() if value != default)]


@functools.lru_cache(maxsize=2)
def _loaded(suite: str, tuned_in: Path, archives: Path) -> Results:
    """Loads the results of a suite; they are kept for the other rows of the same command."""
    return load(suites.load(suite), tuned_in, archives)


def told(verb: str, options: Sequence[tuple[str, object]]) -> str:
    """Returns the command line of a verb with these options. An option whose value is None is left
    out."""
    words = [word for name, value in options if value is not None for word in (name, str(value))]
    return shlex.join(["fedbench", *verb.split(), *words])
