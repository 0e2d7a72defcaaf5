"""Turns the rows of a design into the points of a suite."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fedbench.errors import UsageError
from fedbench.scenarios.schema import Scenario
from fedbench.suites.design.schema import CLIENTS, Design, Factor, Kind, Level, Value

NAMES: dict[Kind, str] = {"design": "design", "held_out": "held-out", "other_clients": "clients"}
DIGITS = 6  # of a number that several levels multiply


def points(design: Design, scenario: Scenario) -> list[dict[str, object]]:
    """Returns the points, each as the content of the suite's part `Point`.

    A point's name is its kind with a number; its words are those of its levels. Levels set keys in
    the order of the factors, and then those that are multiplied are set to the scenario's value
    times all factors. UsageError if nothing is drawn, or if such a value is no number.
    """
    if design.drawn is None:
        raise UsageError(f"design {design.name}: it has no points yet; `fedbench suite design FILE --seed SEED` draws them")
    found: list[dict[str, object]] = []
    for kind, rows in design.rows().items():
        order = design.order(kind)
        for number, row in enumerate(rows, 1):
            chosen = [factor.levels[factor.values.index(value)] for factor, value in zip(order.values(), row, strict=True)]
            levels = dict(zip(order, row, strict=True))
            point = _point(f"{NAMES[kind]}-{number:02d}", kind, levels, chosen, scenario)
            found.append({**point, "places": _places(design, levels, scenario)})
    return found


def _places(design: Design, levels: Mapping[str, Value], scenario: Scenario) -> dict[str, Value]:
    """Returns where a point lies: for a factor of numbers the place of its level from 0 to 1, for
    one of texts the level. A point that does not say so has the scenario's number of clients."""
    clients = {} if design.other_clients is None else {CLIENTS: design.other_clients}
    whole = {CLIENTS: scenario.clients, **levels}
    return {name: _place(factor, whole[name]) for name, factor in (clients | design.factors).items()}


def _place(factor: Factor, level: Value) -> Value:
    numbers = factor.numbers
    if numbers is None or isinstance(level, str):
        return level
    scaled = math.log if factor.scale == "log" else float
    low, high = scaled(numbers[0]), scaled(numbers[-1])
    return round((scaled(level) - low) / (high - low), DIGITS)


def _point(name: str, kind: Kind, levels: Mapping[str, Value], chosen: Sequence[Level], scenario: Scenario) -> dict[str, object]:
    changes = {key: value for level in chosen for key, value in level.set.items()}
    content = scenario.resolved()
    for key in dict.fromkeys(key for level in chosen for key in level.times):
        product = _number(content, key, scenario.name) * math.prod(level.times.get(key, 1.0) for level in chosen)
        changes[key] = round(product) if product == round(product) else float(f"{product:.{DIGITS}g}")
    words = "; ".join(level.words for level in chosen if level.words)
    return {
        "name": name,
        "axis": kind.replace("_", " "),
        "about": words and f"{words}.",
        "kind": kind,
        "levels": levels,
        "set": changes,
    }


def _number(content: Mapping[str, object], path: str, scenario: str) -> float:
    """Returns the number that a scenario has for the key of this path."""
    place: object = content
    for key in path.split("."):
        place = place.get(key) if isinstance(place, Mapping) else None
    if isinstance(place, bool) or not isinstance(place, int | float):
        raise UsageError(f"scenario {scenario}: a level multiplies {path}, which is no number here: {place!r:.80}")
    return place
