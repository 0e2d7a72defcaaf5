"""A race look by look: which runs are wanted now, and what is decided once they are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.suites import tuned
from fedbench.suites.campaign import missing
from fedbench.suites.race import decisions
from fedbench.suites.race.decisions import Decisions, Judged
from fedbench.suites.race.judging import digest, judge
from fedbench.suites.race.schema import Look, Race
from fedbench.suites.seats import group_of_row
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuned import TUNED, Tuned

LOCK = "race"


@dataclass(frozen=True)
class Field:
    """The rows of one group of a point that race with each other: the runs of all seeds by row.
    Rows with tuned options and those with default options are on boards of their own, and so race
    apart. Those that are `withdrawn` are in no further look, since a run of them fails."""

    point: str
    group: str
    rows: Mapping[str, Sequence[RunSpec]]
    withdrawn: frozenset[str] = frozenset()

    def left(self, rows: Sequence[str]) -> tuple[str, ...]:
        """Returns those of some rows that are not withdrawn."""
        return tuple(row for row in rows if row not in self.withdrawn)


@dataclass(frozen=True)
class Entries:
    """All that take part: the fields, and by point the runs of references, which nobody drops."""

    fields: tuple[Field, ...]
    references: Mapping[str, Sequence[Sequence[RunSpec]]]

    def judged(self, found: Decisions) -> Entries:
        """Returns the same without the rows that were not compared where others were, since they
        cannot run there."""
        return replace(self, fields=tuple(_compared(field, found.of(field.point, field.group)) for field in self.fields))


def _compared(field: Field, judged: Sequence[Judged]) -> Field:
    kept = judged[0].compared if judged else tuple(field.rows)
    return replace(field, rows={row: specs for row, specs in field.rows.items() if row in kept})


def race_of(suite: Suite) -> Race:
    """Returns the suite's part `race`. Raises UsageError if it has none."""
    if suite.race is None:
        raise UsageError(f"suite {suite.name}: it has no part `race`, so all of its rows have all seeds")
    return suite.race


def entries(suite: Suite, frozen: Tuned | None, cells: Iterable[tuple[Point, str]]) -> Entries:
    """Returns who takes part, of the points and algorithms that go together."""
    fields: dict[tuple[str, str], dict[str, Sequence[RunSpec]]] = {}
    references: dict[str, list[Sequence[RunSpec]]] = {}
    for point, selector in cells:
        for _, row, specs in tuned.rows(suite, frozen, [point], [selector]):
            if specs[0].algorithm.reference:
                references.setdefault(point.name, []).append(specs)
                continue
            words = group_of_row(suite, frozen, point, row).words
            fields.setdefault((point.name, f"{words}{TUNED if row.endswith(TUNED) else ''}"), {})[row] = specs
    return Entries(tuple(Field(point, group, rows) for (point, group), rows in fields.items()), references)


def left(field: Field, found: Decisions) -> tuple[str, ...]:
    """Returns the rows of a field that are neither dropped nor withdrawn."""
    judged = found.of(field.point, field.group)
    return field.left(judged[-1].left if judged else tuple(field.rows))


def next_look(race: Race, field: Field, found: Decisions) -> tuple[Look, tuple[str, ...]] | None:
    """Returns the next look at a field with the rows that are left; None if its race is over: after
    the last look, or with one row left, since no seed can change anything then.

    Raises UsageError if other rows were compared before than are there now.
    """
    judged = found.of(field.point, field.group)
    if not judged:
        left = field.left(tuple(field.rows))
        return (race.looks[0], left) if left else None
    if odd_ones := sorted((set(judged[0].compared) ^ set(field.rows)) - field.withdrawn):
        odd = odd_ones[0]
        has = "is new" if odd in field.rows else "is missing"
        raise UsageError(
            f"race of suite {found.suite}: {field.point}, {field.group}: row {odd} {has}; expected those that were compared after "
            f"{judged[0].look.seeds} seeds. A race of other rows begins anew: move {decisions.FILE} away"
        )
    left = field.left(judged[-1].left)
    several = race.at(field.point)
    return (several[len(judged)], left) if len(judged) < len(several) and len(left) > 1 else None


def seeds_of(race: Race, field: Field, found: Decisions) -> dict[str, int]:
    """Returns for every row of a field how many seeds the race asks of it, up to the next look."""
    seeds = {row: one.look.seeds for one in found.of(field.point, field.group) for row in one.compared}
    following = next_look(race, field, found)
    return seeds | (dict.fromkeys(following[1], following[0].seeds) if following else {})


def asked(race: Race, those: Entries, found: Decisions) -> list[RunSpec]:
    """Returns the runs that the race asks for up to the next look of every field, once each.
    References have as many seeds as the row with the most."""
    most: dict[str, int] = dict.fromkeys(those.references, race.looks[0].seeds)
    specs: list[RunSpec] = []
    for field in those.fields:
        seeds = seeds_of(race, field, found)
        most[field.point] = max(most.get(field.point, 0), *seeds.values(), 0)
        specs += [spec for row, count in seeds.items() for spec in field.rows[row][:count]]
    specs += [spec for point, several in those.references.items() for one in several for spec in one[: most[point]]]
    return list({spec.run_id: spec for spec in specs}.values())


def judged_at(field: Field, look: Look, rows: Sequence[str], runs: Mapping[str, Record]) -> Judged:
    """Returns what a look decides of a field, from its runs by id."""
    seated = {row: [runs[spec.run_id] for spec in field.rows[row][: look.seeds]] for row in rows}
    verdict = judge(seated, look)
    return Judged(
        group=field.group,
        look=look,
        compared=tuple(rows),
        dropped=dict(verdict.dropped),
        digest=digest(run for several in seated.values() for run in several),
    )


def advance(race: Race, those: Entries, found: Decisions, store: Store) -> dict[str, list[Judged]]:
    """Returns by point the decisions on all fields whose next look has its runs in the store."""
    more: dict[str, list[Judged]] = {}
    for field in those.fields:
        following = next_look(race, field, found)
        if following is None:
            continue
        look, rows = following
        specs = [spec for row in rows for spec in field.rows[row][: look.seeds]]
        if not missing(store, specs):
            more.setdefault(field.point, []).append(judged_at(field, look, rows, _records(store, specs)))
    return more


def _records(store: Store, specs: Iterable[RunSpec]) -> dict[str, Record]:
    found = {spec.run_id: store.find(spec.scenario.name, spec.algorithm.name, spec.run_id) for spec in specs}
    return {run_id: record for run_id, record in found.items() if record is not None}


def keep(suite: Suite, frozen: Tuned | None, store: Store, more: Mapping[str, Sequence[Judged]]) -> Decisions:
    """Adds decisions to those in the store, and returns all of them. Several processes may do so at
    a time. Raises UsageError as `Decisions.with_more` does."""
    store.prepare()
    with store.lock_of(LOCK).acquire(timeout=-1):
        found = decisions.read(store.root, suite, frozen).with_more(more)
        decisions.write(store.root, found)
    return found


def run(
    suite: Suite,
    frozen: Tuned | None,
    those: Entries,
    store: Store,
    compute: Callable[[list[RunSpec]], object],
    tell: Callable[[str], None],
) -> Decisions:
    """Runs a race to its end: computes what a look needs, decides, writes the decision down, and
    goes on. A field of which runs fail stops there, the others go on.

    Args:
        suite: the suite.
        frozen: the tuned options whose rows take part, None for none.
        those: who takes part.
        store: of the records and decisions. What is there is neither computed nor decided again.
        compute: computes the runs of the list that have no record.
        tell: called with a line for every row that is dropped.
    """
    race, found = race_of(suite), decisions.read(store.root, suite, frozen)
    while True:
        compute(asked(race, those, found))
        more = advance(race, those, found, store)
        if not more:
            return found
        found = keep(suite, frozen, store, more)
        for point, several in more.items():
            for one in several:
                tell(f"{point}, {one.group}, {one.look.seeds} seeds: {len(one.left)} of {len(one.compared)} rows are left")
                for row, reason in one.dropped.items():
                    tell(f"  dropped: {row}: {reason}")


def check(those: Entries, found: Decisions, runs: Mapping[str, Record]) -> None:
    """Raises UsageError unless the records give the decisions again, all of them."""
    for field in those.fields:
        rows = tuple(field.rows)
        for one in found.of(field.point, field.group):
            specs = [spec for row in rows for spec in field.rows[row][: one.look.seeds]]
            if lacking := [spec for spec in specs if spec.run_id not in runs]:
                raise UsageError(f"race of suite {found.suite}: {field.point}: no record of {lacking[0].named}, which was judged")
            found.with_more({field.point: [judged_at(field, one.look, rows, runs)]})
            rows = one.left
