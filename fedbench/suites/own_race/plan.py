"""What a race on one scenario does in the minutes that it has.

The schedule, from what suits few minutes:

1. Every row makes one run, with its default options. Who then costs FAR_BEHIND times as much as
   another row, on every axis and by both rules of reaching, is dropped. The factor is so large
   since defaults say little of what a row can do: in the suites axes, beyond and axes-cnn (which is
   retired), with their first five seeds, a factor of 6 drops the row that is the best in seconds
   after tuning in 2 of 175 cases, 4 in 10, 2 in 39, and 1.5 in 53. So nobody is dropped for a
   little, though 6 drops only one row in 20.
2. The rows that are left are tuned by successive halving, all with the same rungs. The more
   minutes, the larger they are; if not even the smallest fit into TUNING_SHARE of the time that is
   left, nobody is tuned. A comparison of tuned rows with others would be one of who was tuned.
3. Every row races with the options that were chosen for it, its own defaults among them: looks
   after 3, 10, 20 and 40 seeds drop those that cannot be the best any more. It takes all the time
   that is left, and a race with all seeds ends.

A clock decides two things and no other. At the first call, short runs are timed, and the rungs
follow from their price and from the minutes. They are written into the store as the plan. And the
race stops when its time is over, between two runs. A later call reads the plan and goes on, so the
runs and the decisions are those of one call with more minutes, to the last bit. What is said at the
end rests on the seeds that all rows have by then.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field

from fedbench import plain_files, registry
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.kernels.checks import is_whole
from fedbench.results.store import write_atomically
from fedbench.scenarios.base import Float, Integer, Part, PositiveFloat, PositiveInt
from fedbench.scenarios.problems import validated
from fedbench.scenarios.schema import Scenario
from fedbench.suites.own_race.suite import TUNING_SEEDS, OneScenario, space_of, whole
from fedbench.suites.price import Rate, planned, tried
from fedbench.suites.seats import group_of_row
from fedbench.suites.space import Space, declared
from fedbench.suites.tuning_parts import Rung

FILE = "plan.json"
LARGEST_FILE = 1 << 20
LEAST_MINUTES, MOST_MINUTES = 1e-9, 1_000_000
FAR_BEHIND = 6.0
LAST_FIRST_SEED = 2**31 - 1 - TUNING_SEEDS
OVERHEAD = 0.05  # seconds of a run beside its training: to hand it over, and to write its record
TUNING_SHARE = 2 / 3  # of the time that the first seeds leave, at most
RUNGS = tuple(
    tuple(Rung(trials=trials, seeds=seeds, budget_share=share) for trials, seeds, share in rungs)
    for rungs in (
        ((64, 1, 1 / 3), (16, 2, 2 / 3), (6, 4, 1)),
        ((16, 1, 1 / 3), (4, 2, 2 / 3), (2, 3, 1)),
        ((8, 1, 1 / 3), (2, 3, 1)),
        ((4, 1, 1 / 3), (1, 3, 1)),
    )
)
"""The rungs of a search, from the most to the fewest."""


@dataclass(frozen=True)
class Given:
    """What a user asks for. Without `algorithms` all that fedbench has take part. `space` is a file
    with more options to tune."""

    scenario: Scenario
    algorithms: Sequence[str] = ()
    space: str | Path | None = None
    minutes: float = 20
    processes: int = 1
    first_seed: int = 0
    tune: bool = True

    def plain(self) -> Given:
        """Returns the same with Python's numbers in the place of NumPy's. UsageError for what no
        race can be about."""
        self.check()
        return replace(self, minutes=float(self.minutes), processes=int(self.processes), first_seed=int(self.first_seed))

    def check(self) -> None:
        """Raises UsageError for what no race can be about. A scenario without targets is refused
        rather than given one: which accuracy is worth waiting for is what the race is about, and
        before any run nobody knows which ones are in reach."""
        if not _is_number(self.minutes, LEAST_MINUTES, MOST_MINUTES):
            raise UsageError(f"race: minutes must be a number > 0 and at most {MOST_MINUTES:,}, got {self.minutes!r}")
        if not _is_whole(self.processes, 1, sys.maxsize):
            raise UsageError(f"race: processes must be a whole number >= 1, got {self.processes!r}")
        if not _is_whole(self.first_seed, 0, LAST_FIRST_SEED):
            raise UsageError(f"race: first_seed must be a whole number between 0 and {LAST_FIRST_SEED}, got {self.first_seed!r}")
        if self.space is not None and not self.tune:
            raise UsageError(
                f"race: search space {self.space} is for tuning, and options are not to be tuned; leave one of the two out"
            )
        if not self.scenario.targets:
            raise UsageError(
                f"race: scenario {self.scenario.name} has no targets, and a race is about who holds them at the least cost; add what "
                "accuracy you want, such as --set 'targets=[{value: 0.8}]'"
            )

    @functools.cached_property
    def selectors(self) -> list[str]:
        """Returns the algorithms, with all that a run of them needs to be the same. UsageError for
        a reference, which nobody is compared with."""
        names = self.algorithms or [one for one in registry.ALGORITHMS if not registry.algorithm(one).reference]
        for one in names:
            if not isinstance(one, str):
                raise UsageError(
                    "race: algorithms must be selectors such as 'fedbuff' or './mine.py:Mine', by which its runs can be made again, "
                    f"got {one!r}"
                )
            if registry.algorithm(one).reference:
                raise UsageError(f"race: {one} is a reference, which is shown and not compared; leave it out")
        return list(dict.fromkeys(whole(self.scenario, one) for one in names))

    @property
    def asked(self) -> str:
        """Returns what is wanted to be tuned: a search space, and what algorithms declare."""
        if not self.tune:
            return "no tuning"
        space = (
            "shipped space"
            if self.space is None
            else hashlib.sha256(plain_files.content(self.space, LARGEST_FILE, "search space")).hexdigest()
        )
        found = {one: declared(type(registry.algorithm(one))) for one in self.selectors}
        own = {one: entry.hashed() for one, entry in found.items() if entry}
        return f"{space}, {hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()}" if own else space


def _is_number(value: object, low: float, high: float) -> bool:
    return (is_whole(value) or isinstance(value, float | np.floating)) and low <= float(value) <= high


def _is_whole(value: object, low: int, high: int) -> bool:
    return is_whole(value) and low <= value <= high


class Entrant(Part):
    """A row of a race: the id of its first run, which names the scenario, the seed and all of its
    options, and about how many seconds of one core it trains."""

    run: str
    seconds: Annotated[Float, Field(ge=0)]


class Plan(Part):
    """What was decided before the race. `rungs` is empty if options are not tuned. `minutes` and
    `processes` are those of the first call, and `asked` says what it wanted to have tuned."""

    model_config = ConfigDict(title="plan of a race")

    schema_version: Literal[1] = Field(alias="schema")
    scenario: str
    first_seed: Annotated[Integer, Field(ge=0)]
    minutes: PositiveFloat
    processes: PositiveInt
    entrants: Annotated[dict[str, Entrant], Field(min_length=1)]
    refused: dict[str, str]
    rungs: tuple[Rung, ...]
    space: Space
    asked: str

    def suite(self, scenario: Scenario) -> OneScenario:
        """Returns the suite of the rows with their default options."""
        return OneScenario.of(scenario, list(self.entrants), self.first_seed, self.rungs)


def made(given: Given, clock: Callable[[], float] = time.perf_counter) -> Plan:
    """Returns the plan for a user's minutes. Raises UsageError if no algorithm can run."""
    suite = OneScenario.of(given.scenario, given.selectors, given.first_seed)
    first = {one: RunSpec(given.scenario, suite.algorithm(one), given.first_seed) for one in suite.selectors()}
    plans = {one: planned(spec, suite.seeds.numbers) for one, spec in first.items()}
    refused = {one: why for one, (_, why) in plans.items() if why}
    steps = {one: plan.trained_steps for one, (plan, _) in plans.items() if plan is not None}
    if not steps:
        one, why = next(iter(refused.items()))
        raise UsageError(f"race: none of {len(refused)} algorithms can run on scenario {given.scenario.name}; {one}: {why}")
    _check_pairs(suite, list(steps), given.scenario)
    rate = _rate([first[one] for one in sorted(steps, key=lambda one: (steps[one], one))], clock)
    seconds = {one: rate.seconds(count) for one, count in steps.items()}
    suite = OneScenario.of(given.scenario, list(steps), given.first_seed)
    space = space_of(suite, given.space) if given.tune else Space(schema=1, name=suite.name, algorithms={})
    return Plan(
        schema=1,
        scenario=given.scenario.name,
        first_seed=given.first_seed,
        minutes=given.minutes,
        processes=given.processes,
        entrants={one: Entrant(run=first[one].run_id, seconds=round(seconds[one], 3)) for one in steps},
        refused=refused,
        rungs=rungs_for(given, seconds, space),
        space=space,
        asked=given.asked,
    )


def _rate(specs: Sequence[RunSpec], clock: Callable[[], float]) -> Rate:
    """Returns what a step costs by the run in the middle, or by one near to it where that fails.
    What fails does so again in the race, which names it."""
    for _, spec in sorted(enumerate(specs), key=lambda one: abs(one[0] - len(specs) // 2)):
        with contextlib.suppress(Exception, SystemExit):
            return Rate.measured(spec, clock)
    return Rate(0.0, 0.0)


def _check_pairs(suite: OneScenario, rows: Sequence[str], scenario: Scenario) -> None:
    """Raises UsageError if no two rows share a system, so that there is nothing to compare."""
    systems = {row: group_of_row(suite, None, suite.here, row).words for row in rows}
    if len(set(systems.values())) == len(rows):
        cap = f"; --set at_work={max(1, scenario.clients // 2)} would give all the same" if scenario.at_work is None else ""
        told = ", ".join(f"{row} ({words})" for row, words in list(systems.items())[:4])
        raise UsageError(f"race: on scenario {scenario.name} no two rows share a system, so none are compared: {told}{cap}")


def rungs_for(given: Given, seconds: dict[str, float], space: Space) -> tuple[Rung, ...]:
    """Returns the largest rungs for which there is time, none if there are none.

    Args:
        given: the minutes and processes.
        seconds: of one run, by row.
        space: what is tuned.
    """
    left = 60 * given.minutes * given.processes - sum(map(taken, seconds.values()))
    fit = (rungs for rungs in RUNGS if tuning_seconds(given.scenario, rungs, seconds, space) <= TUNING_SHARE * left)
    return next(fit, ()) if space.algorithms else ()


def tuning_seconds(scenario: Scenario, rungs: Sequence[Rung], seconds: dict[str, float], space: Space) -> float:
    """Returns how many seconds of one core it takes at most to tune these rows."""
    suite = OneScenario.of(scenario, list(seconds), 0, rungs)
    tuned = [one for one in seconds if suite.algorithm(one).name in space.algorithms]
    return sum(run.runs * taken(seconds[one], run.share) for one in tuned for run in tried(suite, space, suite.here, one))


def taken(seconds: float, share: float = 1.0) -> float:
    """Returns about how many seconds of one core a run takes of which a whole one trains for so
    many, with a share of the budget."""
    return OVERHEAD + share * seconds


def read(folder: Path, given: Given) -> Plan | None:
    """Returns the plan in a store, None if there is none. Raises UsageError if it is of another
    race."""
    file = folder / FILE
    if not file.exists():
        return None
    plan = validated(Plan, plain_files.json_mapping(file, LARGEST_FILE, "plan of a race"), str(file))
    known = {*plan.entrants, *plan.refused}
    if odd := sorted(known ^ set(given.selectors)):
        raise _another(file, f"algorithm {odd[0]} {'is missing' if odd[0] in known else 'is new'}")
    if plan.asked != given.asked:
        raise _another(file, "other options are to be tuned")
    suite = plan.suite(given.scenario)
    for one, entrant in plan.entrants.items():
        if RunSpec(given.scenario, suite.algorithm(one), given.first_seed).run_id != entrant.run:
            raise _another(file, f"scenario, first seed or code of {one} has changed")
    return plan


def _another(file: Path, why: str) -> UsageError:
    return UsageError(f"race: {file} is the plan of another race ({why}); choose another --store, where this one begins")


def write(folder: Path, plan: Plan) -> None:
    """Writes the plan in one step."""
    write_atomically(folder / FILE, (json.dumps(plan.model_dump(mode="json", by_alias=True), indent=1) + "\n").encode())
