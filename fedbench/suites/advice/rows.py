"""Which algorithms of a map can run on a scenario, and the options from which they begin there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedbench import registry
from fedbench.analysis.map.kept import Costs
from fedbench.analysis.map.parts import MapPart
from fedbench.engine.plan import check_everybody, may_lack_somebody, pieces
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import MissingDataError, UsageError
from fedbench.protocols import Algorithm
from fedbench.scenarios.schema import Scenario
from fedbench.suites.at_work import NAMES, capped

Options = Mapping[str, Mapping[str, object]]
"""Options by name of an algorithm."""


def refused(selectors: Mapping[str, str], scenario: Scenario, seeds: Sequence[int], tuned: Options) -> dict[str, str]:
    """Returns by name of an algorithm why it cannot run on a scenario with the options that were
    tuned and each of these seeds; empty if it can. References, which no federation can choose,
    cannot. UsageError for a selector that is not known."""
    return {name: _reason(selector, tuned.get(name, {}), scenario, seeds) for name, selector in selectors.items()}


def _reason(selector: str, tuned: Mapping[str, object], scenario: Scenario, seeds: Sequence[int]) -> str:
    if registry.algorithm(selector).reference:
        return f"algorithm {selector} is a reference"
    try:
        algorithm = started(selector, tuned, scenario)
        setup = Setup(RunSpec(scenario, algorithm, seeds[0]))
        next(pieces(setup.scheduler()))  # some refuse when their plan begins
        for seed in seeds if may_lack_somebody(setup) else seeds[:1]:
            check_everybody(Setup(RunSpec(scenario, algorithm, seed)))
    except MissingDataError:
        raise
    except UsageError as error:
        return str(error)
    return ""


def started(selector: str, tuned: Mapping[str, object], scenario: Scenario) -> Algorithm:
    """Returns an algorithm with the options of its selector, those that were tuned, and the one
    that keeps to the scenario's cap on jobs under way. A tuned number of clients that the scenario
    does not have becomes all of them."""
    name, own = registry.parse_selector(selector)
    cls = registry.find("algorithm", name)
    given = {**own, **{key: _within(key, value, scenario.clients) for key, value in tuned.items()}}
    return cls.make({**given, **capped(cls, given, scenario)})


def _within(key: str, value: object, clients: int) -> object:
    return min(value, clients) if key in NAMES and isinstance(value, int) else value


def tuned_near(name: str, place: Mapping[str, float], costs: Costs, about: MapPart) -> tuple[str, Mapping[str, object]]:
    """Returns the nearest point at which an algorithm was tuned, and the options that were chosen
    there; no point and no options if it was tuned nowhere. As among anchors of a suite, some
    factors count first, such as the cap on jobs under way: staleness changes with it, and with
    staleness the rates that work."""
    apart = [costs.distances(place, about.numbers, among) for among in ((), about.first)]
    for n in np.lexsort(apart):
        point = str(costs.points["point"][n])
        if name in about.options.get(point, {}):
            return point, about.options[point][name]
    return "", {}
