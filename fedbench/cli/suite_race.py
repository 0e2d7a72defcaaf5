"""What `fedbench suite` does for a suite with a race."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedbench.cli.computing import refuse_failed
from fedbench.cli.output import say, show
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.suites import campaign
from fedbench.suites.price import Cell
from fedbench.suites.race import decisions, looks
from fedbench.suites.race.decisions import Decisions
from fedbench.suites.race.schema import Look, Race
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuned import Tuned

Compute = Callable[[Sequence[RunSpec]], campaign.Tally]


def check_asked(suite: Suite, algorithms: Sequence[str] | None) -> None:
    """Raises UsageError if only some algorithms of a race are asked for."""
    if suite.race is not None and algorithms:
        raise UsageError(f"suite {suite.name}: a race compares all rows of a point; leave out --algorithm {algorithms[0]}")


def run(suite: Suite, frozen: Tuned | None, store: Store, those: looks.Entries, compute: Compute) -> None:
    """Runs a race to its end. FedbenchError if runs failed; groups without such runs are raced to
    the end before."""
    tallies: list[campaign.Tally] = []
    looks.run(suite, frozen, those, store, lambda wanted: tallies.append(compute(wanted)), show)
    refuse_failed(tallies[-1].failed)


@dataclass(frozen=True)
class Standing:
    """How far a race is: its decisions, and who takes part at some points."""

    race: Race
    found: Decisions
    those: looks.Entries

    @classmethod
    def of(cls, suite: Suite, frozen: Tuned | None, store: Store, points: Sequence[Point]) -> Standing:
        """Returns how far the race is in a store. Nothing is planned: what cannot run somewhere is
        known from the first look there."""
        found = decisions.read(store.root, suite, frozen)
        those = looks.entries(suite, frozen, itertools.product(points, suite.selectors()))
        return cls(looks.race_of(suite), found, those.judged(found))

    @property
    def wanted(self) -> list[RunSpec]:
        """Returns the runs that the race asks for so far."""
        return looks.asked(self.race, self.those, self.found)

    def write(self, folder: Path, records: Iterable[Record]) -> None:
        """Writes the decisions beside an archive of these records. Raises UsageError unless the
        records give the same decisions again."""
        looks.check(self.those, self.found, {record.run_id: record for record in records})
        decisions.write(folder, self.found)

    def __str__(self) -> str:
        return "; ".join(_how_far(self.race, field, self.found) for field in self.those.fields)


def _how_far(race: Race, field: looks.Field, found: Decisions) -> str:
    judged, following = found.of(field.point, field.group), looks.next_look(race, field, found)
    left = judged[-1].left if judged else tuple(field.rows)
    where = "over" if following is None else f"next look after {following[0].seeds} seeds"
    return f"{len(left)} of {len(field.rows)} rows left, {where}"


def say_price(race: Race, cells: Sequence[Cell]) -> None:
    """Prints what the race costs at most, and if every look drops half of the rows."""
    rows = [(cell.rows, race.at(cell.point)) for cell in cells if not cell.refused]
    most, half = (sum(count * of(several) for count, several in rows) for of in (all_seeds, halved))
    say(f"{most:,} runs are what the race needs at most, if no row is dropped; {half:,.0f} if every look drops half of the rows")


def all_seeds(several: Sequence[Look]) -> int:
    """Returns how many seeds a row has if no look drops it."""
    return several[-1].seeds


def halved(several: Sequence[Look]) -> float:
    """Returns how many seeds a row has on average if every look drops half of those that are
    left."""
    seeds = [0, *(look.seeds for look in several)]
    return sum((after - before) * 0.5**i for i, (before, after) in enumerate(itertools.pairwise(seeds)))
