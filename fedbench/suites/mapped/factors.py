"""What a model of costs wants to know of a design: its factors, its points, all points that there
can be, the middle from which kinds of heterogeneity depart, and which algorithm runs where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbench.analysis.map.factors import Columns, Factor
from fedbench.analysis.map.presence import Presence
from fedbench.analysis.map.runs import Flags
from fedbench.suites.design.schema import Design, Kind, Value
from fedbench.suites.suite import Suite

SKEW, SPREAD, AT_WORK = "skew", "spread", "at_work"
"""A design that has factors of these names has answers by label skew, by the spread of the speeds
and by the number of clients at work. Without one, what is said over it is left out."""
Levels = Mapping[str, Value]


def factors(design: Design) -> list[Factor]:
    """Returns the factors of the model. Texts are kinds; numbers act by their logarithm where the
    design says so, and have a square if they have three levels or more, as in the model for which
    the points were drawn."""
    return [
        Factor(
            name,
            kinds=() if one.numbers is not None else tuple(map(str, one.values)),
            is_log=one.scale == "log",
            has_square=one.numbers is not None and len(one.levels) > 2,
        )
        for name, one in design.factors.items()
    ]


def table(design: Design, several: Iterable[Levels]) -> dict[str, list[Any]]:
    """Returns the levels of every factor of the model as columns."""
    rows = list(several)
    return {name: [row[name] for row in rows] for name in design.factors}


def points(suite: Suite, kind: Kind) -> dict[str, list[Any]]:
    """Returns the points of a kind: `point`, their names, and the level of every factor."""
    several = [point for point in suite.points if point.kind == kind]
    return {"point": [one.name for one in several], **table(suite.designed(), (one.levels for one in several))}


def possible(design: Design) -> list[dict[str, Value]]:
    """Returns the levels of all points that there can be."""
    values = {name: factor.values for name, factor in design.factors.items()}
    return [
        {name: several[place] for (name, several), place in zip(values.items(), row, strict=True)}
        for row in np.argwhere(design.possible()).tolist()
    ]


def base(design: Design) -> dict[str, Value]:
    """Returns the middle of a design: of every factor the level that leaves the scenario as it is;
    the first one if all change it."""
    return {
        name: next((one.level for one in factor.levels if not one.set and not one.times), factor.levels[0].level)
        for name, factor in design.factors.items()
    }


@dataclass(frozen=True)
class Case:
    """One kind of heterogeneity, in words, with the levels of all factors but clients at work."""

    words: str
    levels: Levels


def cases(design: Design) -> list[Case]:
    """Returns the kinds of heterogeneity: the middle of the design, and for every other level of a
    factor the middle with this level. Clients at work are asked for beside them."""
    middle = base(design)
    kept = {name: level for name, level in middle.items() if name != AT_WORK}
    changed = [
        Case(f"{name} {told(level)}", {**kept, name: level})
        for name, factor in design.factors.items()
        for level in factor.values
        if name != AT_WORK and level != middle[name]
    ]
    return [Case("the middle", kept), *changed]


def told(level: Value) -> str:
    """Returns a level as a text."""
    return level if isinstance(level, str) else f"{level:g}"


def explained(design: Design, levels: Levels) -> str:
    """Returns what the levels are in the words of the design; nothing for those without words."""
    chosen = [one for name, level in levels.items() for one in design.factors[name].levels if one.level == level]
    return "; ".join(one.words for one in chosen if one.words)


def in_words(levels: Levels) -> str:
    """Returns levels as a text: `skew iid, spread 0.5`."""
    return ", ".join(f"{name} {told(level)}" for name, level in levels.items())


def runs_there(design: Design, seen: Presence, levels: Columns) -> Flags:
    """Returns which algorithms are taken to run at which levels of all factors (L, K). For a number
    that no point has, both neighbours that points have count."""
    known = {
        name: [level for level in factor.values if level in set(seen.levels[name])] for name, factor in design.factors.items()
    }
    near = {
        name: {
            level: _around(level, known[name]) if factor.numbers is not None else [level] for level in dict.fromkeys(levels[name])
        }
        for name, factor in design.factors.items()
    }
    rows = [dict(zip(near, row, strict=True)) for row in zip(*(levels[name] for name in near), strict=True)]
    return np.array([seen.at({name: near[name][level] for name, level in row.items()}) for row in rows])


def _around(level: Any, known: Sequence[Any]) -> list[Any]:
    """Returns the level if it is known, else its neighbours, of which there is one at an end."""
    below, above = [one for one in known if one <= level], [one for one in known if one >= level]
    return sorted({*below[-1:], *above[:1]})
