"""The suite of a race on one scenario, which has no file, and the options that are tuned in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr

from fedbench import registry
from fedbench.engine.spec import RunSpec
from fedbench.protocols import Algorithm
from fedbench.scenarios import load as scenarios
from fedbench.scenarios.schema import Scenario
from fedbench.suites import space as spaces
from fedbench.suites.price import planned
from fedbench.suites.race.schema import Look, Race
from fedbench.suites.space import Interval, Options, Space
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuning_parts import Halving, Rung, Seeds

NAME = "race"
LOOKS = tuple(Look(seeds=n, level=level) for n, level in ((3, 0.002), (10, 0.008), (20, 0.015), (40, 0.025)))
"""They are the same for any time, so that a race which stops early goes on later without a level
that does not fit. By simulation the best row is dropped in less than the promised 5 %."""
MOST_SEEDS = LOOKS[-1].seeds
TUNING_SEEDS = 1000  # options are tuned on seeds from so far behind the first seed on
SHIPPED = "map"  # the search space of fedbench from which the options of its own algorithms are tuned


class OneScenario(Suite):
    """A suite with one point, a scenario that is in memory. Every seed of it is a run of
    `fedbench run`."""

    _given: Scenario = PrivateAttr()

    @classmethod
    def of(cls, scenario: Scenario, algorithms: Sequence[str], first_seed: int, rungs: Sequence[Rung] = ()) -> OneScenario:
        """Returns the suite of these algorithms, which tunes in these rungs, or not without any."""
        tuning = {"method": "halving", "space": NAME, "rungs": tuple(rungs), "first_seed": first_seed + TUNING_SEEDS}
        made = cls(
            schema=1,
            name=NAME,
            about="",
            points=(Point(name=scenario.name, scenario=scenario.name),),
            algorithms=tuple(algorithms),
            seeds=Seeds(first=first_seed, count=MOST_SEEDS),
            tuning=Halving.model_validate(tuning) if rungs else None,
            race=Race(looks=LOOKS),
        )
        made._given = scenario
        return made

    @property
    def here(self) -> Point:
        """Returns its point."""
        return self.points[0]

    def _declared(self, algorithms: Iterable[Algorithm]) -> dict[str, object]:
        """Returns nothing, since the plan of a race has all that is tuned."""
        return {}

    def _scenario(self, point: Point, *more: str) -> Scenario:
        if more not in self._read:
            self._read[more] = scenarios.load(self._given, more) if more else self._given
        return self._read[more]


def whole(scenario: Scenario, selector: str, options: dict[str, Any] | None = None) -> str:
    """Returns the selector by which `fedbench run` gives the run that a suite gives here: also with
    what a cap on jobs asks for, and with `options` in the place of its own."""
    name, _ = registry.parse_selector(selector)
    suite = OneScenario.of(scenario, [selector], 0)
    algorithm = suite.algorithm(selector, options, suite.here)
    return registry.selector(name, algorithm.options(), type(algorithm)().options())


def space_of(suite: OneScenario, own: str | Path | None) -> Space:
    """Returns what is tuned of a suite's algorithms: what the file `own` says, else what the suite
    `map` tunes, else what an algorithm declares itself. One that has none of these is not tuned.
    Whole numbers end at the number of clients where the scenario takes no larger ones."""
    known = spaces.load(SHIPPED).algorithms | ({} if own is None else spaces.load(own).algorithms)
    entries: dict[str, Options] = {}
    for selector in suite.selectors():
        cls = type(suite.algorithm(selector))
        entry = known.get(cls.name) or spaces.declared(cls)
        narrow = {key: _fitting(suite, selector, key, one) for key, one in entry.options.items()} if entry else {}
        if kept := {key: one for key, one in narrow.items() if one is not None}:
            entries[cls.name] = Options(options=kept)
    return Space(schema=1, name=NAME, algorithms=entries)


def _fitting(suite: OneScenario, selector: str, key: str, interval: Interval) -> Interval | None:
    """Returns an interval whose upper end the scenario takes, None if there is none."""
    cls, clients = type(suite.algorithm(selector)), suite.scenario_at(suite.here).clients
    for high in (interval.high, float(clients)):
        if interval.low < high <= interval.high and not refused(suite, selector, {key: spaces.value_of(cls, key, high)}):
            return interval.model_copy(update={"high": high})
    return None


def refused(suite: OneScenario, selector: str, options: Mapping[str, Any] | None = None) -> str:
    """Returns why an algorithm cannot run on the scenario; empty if it can."""
    spec = RunSpec(suite.scenario_at(suite.here), suite.algorithm(selector, options, suite.here), suite.seeds.first)
    return planned(spec, suite.seeds.numbers)[1]
