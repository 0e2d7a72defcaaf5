"""The stages of a race on one scenario: what each wants to be run, and what follows from the
records. Everything is derived again from the store at every call, so nothing is lost by a kill."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from fedbench import written
from fedbench.analysis.costs import TOO_EARLY, finer
from fedbench.analysis.groups import Group
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.schema import Scenario
from fedbench.suites.campaign import missing
from fedbench.suites.own_race import field as fields
from fedbench.suites.own_race.field import Started
from fedbench.suites.own_race.plan import FAR_BEHIND, Plan, taken
from fedbench.suites.own_race.suite import OneScenario, whole
from fedbench.suites.own_race.unranked import of_targets
from fedbench.suites.race import decisions, looks
from fedbench.suites.race.judging import Reason, far_behind, on_boards
from fedbench.suites.search import Progress, advanced, search
from fedbench.suites.seats import group_of_row
from fedbench.suites.tuning import Outcome, finder

Compute = Callable[[Sequence[RunSpec]], object]
"""Computes the runs that the store lacks. It raises OutOfTime if some are left."""
Tell = Callable[[str], None]


FIRST, TUNING, RACE = "first seed", "tuning", "race"


def lasting(minutes: float) -> str:
    """Returns about how long something takes, in words: at least a second."""
    return written.hours(max(minutes, 1 / 60) / 60)


class OutOfTime(Exception):
    """The minutes are over. What was computed is stored."""


def _no_verdict(scenario: Scenario) -> str:
    return (
        f"race: on scenario {scenario.name} no target gets a verdict: each is {TOO_EARLY}, so that costs would measure the grid; in "
        f"another --store, take higher targets, or evaluate more often at the beginning, such as with {finer(scenario)}"
    )


@dataclass
class Stages:
    """A race as far as its store has it.

    pace: how many times as long runs take as foretold.
    failed: the reason of every run that failed, by its id, for as long as this object lives: the
    next call tries again, until the race begins. Then who races is settled.
    """

    plan: Plan
    scenario: Scenario
    store: Store
    processes: int = 1
    pace: float = 1.0
    failed: dict[str, str] = field(default_factory=dict)
    started: Started | None = None
    _records: dict[str, Record] = field(default_factory=dict, repr=False)
    _searches: dict[str, Progress] = field(default_factory=dict, repr=False)
    _outcomes: dict[str, Outcome] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.started = fields.read(self.store.root)

    @cached_property
    def suite(self) -> OneScenario:
        return self.plan.suite(self.scenario)

    # ---- one seed ----

    def first(self) -> dict[str, RunSpec]:
        """Returns the first run of every row."""
        return {row: self.suite.runs(self.suite.here, row)[0] for row in self.plan.entrants}

    def groups(self) -> dict[Group, dict[str, list[Record]]]:
        """Returns the first runs by group and row, of the groups whose rows have all made them."""
        found: dict[Group, dict[str, list[Record]]] = {}
        lacking: set[Group] = set()
        for row, spec in self.first().items():
            group, run = group_of_row(self.suite, None, self.suite.here, row), self.find(spec)
            if run is not None:
                found.setdefault(group, {})[row] = [run]
            elif spec.run_id not in self.failed and (self.started is None or row not in self.started.out):
                lacking.add(group)
        return {group: rows for group, rows in found.items() if group not in lacking}

    def behind(self) -> dict[str, Reason]:
        """Returns the rows that are dropped after one seed, with the reason."""
        return {row: why for rows in self.groups().values() for row, why in far_behind(rows, FAR_BEHIND).items()}

    def has_verdict(self) -> bool:
        """Returns whether some group has a target that gets a verdict, by its first seed."""
        return any(on_boards(rows) for rows in self.groups().values())

    def left(self) -> list[str]:
        """Returns the rows that go on after one seed: with a record, and not dropped."""
        if self.started is not None:
            return list(self.started.rows.values())
        behind = self.behind()
        return [row for row, spec in self.first().items() if self.find(spec) is not None and row not in behind]

    # ---- tuning ----

    def searches(self) -> dict[str, Progress]:
        """Returns how far the search for the options of every row that is left is. Rows whose
        options are not tuned have none."""
        suite, find, known = self.suite, finder(self.store, self._outcomes), self._searches
        tuned = [row for row in self.left() if self.plan.rungs and suite.algorithm(row).name in self.plan.space.algorithms]
        for row in tuned:
            if row not in known or known[row].choice is None:
                known[row] = advanced(search(suite, self.plan.space, suite.here, row), find)
        return {row: known[row] for row in tuned}

    def untuned(self) -> dict[str, str]:
        """Returns the rows of whose search a run failed, with the reason. They keep their
        options."""
        found = {
            row: [self.failed[spec.run_id] for spec in one.wanted if spec.run_id in self.failed]
            for row, one in self.searches().items()
        }
        return {row: why[0] for row, why in found.items() if why}

    def finalists(self) -> dict[str, str]:
        """Returns the selectors that race, with the row that each comes from. The options are those
        that were chosen, else the row's own."""
        if self.started is not None:
            return dict(self.started.rows)
        searches = self.searches()
        chosen = {row: searches[row].choice if row in searches else None for row in self.left()}
        return {row if choice is None else whole(self.scenario, row, choice.options): row for row, choice in chosen.items()}

    @property
    def stage(self) -> str:
        """Returns the stage that has begun last and is not over, or the race."""
        if self.started is not None:
            return RACE
        if any(self.find(spec) is None and spec.run_id not in self.failed for spec in self.first().values()):
            return FIRST
        return TUNING if any(one.choice is None and not self._fails(one) for one in self.searches().values()) else RACE

    # ---- race ----

    @cached_property
    def final(self) -> OneScenario:
        """Returns the suite that races; to be asked for when all searches have ended."""
        return OneScenario.of(self.scenario, list(self.finalists()), self.plan.first_seed)

    def entries(self) -> looks.Entries:
        """Returns who races, by group."""
        found = looks.entries(self.final, None, [(self.final.here, one) for one in self.final.selectors()])
        out = frozenset() if self.started is None else frozenset(self.started.out)
        return replace(found, fields=tuple(replace(one, withdrawn=out & one.rows.keys()) for one in found.fields))

    def out(self) -> dict[str, str]:
        """Returns the rows of which a run failed, with the reason."""
        if self.started is None:
            return self.not_run() | self.untuned()
        kept = {row: f"its options could not be tuned, so it has its own: {why}" for row, why in self.started.kept.items()}
        failing = {row: next(iter(several.values())) for row, several in self.failing().items()}
        return kept | failing | self.started.out

    def not_run(self) -> dict[str, str]:
        """Returns the rows whose first run failed, with the reason."""
        return {row: self.failed[spec.run_id] for row, spec in self.first().items() if spec.run_id in self.failed}

    def failing(self) -> dict[str, dict[str, str]]:
        """Returns by row of the race the runs that failed, with the reason."""
        found = {
            row: {one.run_id: self.failed[one.run_id] for one in specs if one.run_id in self.failed}
            for each in self.entries().fields
            for row, specs in each.rows.items()
            if row not in each.withdrawn
        }
        return {row: several for row, several in found.items() if several}

    def find(self, spec: RunSpec) -> Record | None:
        if spec.run_id not in self._records:
            record = self.store.find(spec.scenario.name, spec.algorithm.name, spec.run_id)
            if record is None:
                return None
            self._records[spec.run_id] = record
        return self._records[spec.run_id]

    # ---- all of them ----

    def run(self, compute: Compute, tell: Tell) -> None:
        """Runs all stages to their end. `compute` may raise OutOfTime at any of them."""
        if self.started is None:
            self._first_seed(compute, tell)
            self._tune(compute, tell)
            if not self.left():
                return
            self._write(Started(rows=self.finalists(), kept=self.untuned(), out=self.not_run()))
        seeds = ", ".join(str(look.seeds) for look in looks.race_of(self.final).looks)
        tell(
            f"{RACE}: {written.counted(len(self.finalists()), 'row')} with the options that were chosen; looks after {seeds} seeds"
        )

        def computed(wanted: Sequence[RunSpec]) -> None:
            self._say(tell, RACE, wanted)
            compute(sorted(wanted, key=lambda spec: spec.seed))

        tried: set[str] = set()
        while True:
            looks.run(self.final, None, self.entries(), self.store, computed, tell)
            failing = self.failing()
            if not failing:
                return
            again = {run for several in failing.values() for run in several} - tried
            tried |= again
            for run in again:  # it may have been the machine
                del self.failed[run]
            if not again and not self._withdraw({row: next(iter(several.values())) for row, several in failing.items()}, tell):
                return

    def _withdraw(self, rows: Mapping[str, str], tell: Tell) -> bool:
        """Takes rows out of the race, for all calls to come, and returns whether it goes on. Where
        all rows of a group fail it is more likely the machine, so these stay for the next call."""
        found = decisions.read(self.store.root, self.final, None)
        alone = {
            row
            for each in self.entries().fields
            if (left := looks.left(each, found)) and rows.keys() >= set(left)
            for row in left
        }
        out = {row: why for row, why in rows.items() if row not in alone}
        if out and self.started is not None:
            self._write(self.started.model_copy(update={"out": {**self.started.out, **out}}))
        for row, why in rows.items():
            tell(f"{'failed' if row in alone else 'withdrawn'}: {row}: {why}")
        return bool(out)

    def _write(self, started: Started) -> None:
        fields.write(self.store.root, started)
        self.started = started

    def _first_seed(self, compute: Compute, tell: Tell) -> None:
        specs = list(self.first().values())
        self._say(tell, f"{FIRST}: all {len(specs)} rows with their default options", specs)
        compute(specs)
        behind = self.behind()
        if self.groups() and not self.has_verdict():
            raise FedbenchError(_no_verdict(self.scenario))
        for line in of_targets([*self.groups().values()]):
            tell(f"{FIRST}: {line}")
        tell(f"{FIRST}: {len(self.left())} of {len(specs)} rows are left")
        for row, why in behind.items():
            tell(f"  dropped: {row}: {why}")

    def _tune(self, compute: Compute, tell: Tell) -> None:
        while wanted := [spec for one in self.searches().values() for spec in one.wanted if not self._fails(one)]:
            self._say(tell, f"{TUNING}: {len(self.left())} rows", wanted)
            compute(wanted)

    def _fails(self, one: Progress) -> bool:
        return any(spec.run_id in self.failed for spec in one.wanted)

    def _say(self, tell: Tell, what: str, wanted: Sequence[RunSpec]) -> None:
        if lacking := missing(self.store, wanted):
            tell(f"{what}: {written.counted(len(lacking), 'run')}, about {lasting(self.minutes(lacking))}")

    # ---- time ----

    def seconds(self) -> Mapping[str, float]:
        """Returns about how long a run of each algorithm trains on one core, by its name: what
        first runs took, else what the plan says."""
        found: dict[str, float] = {}
        for row, spec in self.first().items():
            run = self.find(spec)
            wall = None if run is None else run.provenance.wall_seconds
            found[spec.algorithm.name] = self.plan.entrants[row].seconds if wall is None else wall
        return found

    def minutes(self, specs: Sequence[RunSpec]) -> float:
        """Returns about how many minutes these runs take. A run with a part of the budget takes as
        large a part of the time."""
        seconds, budget = self.seconds(), self.scenario.budget.seconds
        each = (taken(seconds[one.algorithm.name], one.scenario.budget.seconds / budget) for one in specs)
        return self.pace * sum(each) / 60 / self.processes

    def took(self, specs: Sequence[RunSpec], seconds: float) -> None:
        """Learns from how long some runs took, so that other ones are foretold better."""
        foretold = 60 * self.minutes([spec for spec in specs if self.find(spec) is not None])
        if foretold > 0:
            self.pace *= seconds / foretold
