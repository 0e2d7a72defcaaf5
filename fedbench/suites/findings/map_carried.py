"""What of a map holds with another model or task, as a section of its screens."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fedbench.analysis.axes import AXES
from fedbench.suites.findings.markdown import table
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import factors
from fedbench.suites.mapped.carried import Carried, Missed, carried
from fedbench.written import AT_LEAST, Ratio, estimate, ratio


def elsewhere(results: Results, suites: Sequence[Results]) -> list[Results]:
    """Returns the suites over some points of the same design, with another model or task."""
    design = results.suite.designed()
    return [one for one in suites if one is not results and one.suite.design is not None and one.suite.designed() == design]


def of_others(results: Results, others: list[Results]) -> Iterator[str]:
    """Yields what holds of a map in other suites over points of its design; nothing without any."""
    for other in others:
        yield f"### What holds in {other.suite.name}"
        found = carried(results, other)
        yield (
            f"{other.suite.about} Kendall's tau compares the orders by cost at a point: 1 is the same order, 0 no relation. The first of "
            "the map is the algorithm that costs least there on the map, of those that both suites have. Numbers are means over points, "
            "with 95 % intervals over draws of points. If both had the same costs, the noise of seeds would make tau less than 1 all the "
            "same: that is the tau by seeds alone."
        )
        head = (
            "axis",
            "points",
            "tau",
            "by seeds alone",
            "cost of the first of the map / smallest cost",
            "more than 10 % above it, or misses a target",
        )
        yield table(head, [_row(one) for one in found])
        for one in found:
            if one.missed:
                words = AXES[one.axis].words.capitalize()
                yield "\n".join(
                    [
                        f"{words}, where the first of the map is more than 10 % too dear, or misses a target that the cheapest one holds:",
                        "",
                        *(f"- {_miss(results, name, miss)}" for name, miss in one.missed.items()),
                    ]
                )


def _row(one: Carried) -> list[str]:
    count = f"{len(one.missed)} of {len(one.points)}"
    value, low, high = one.regret
    regret = str(Ratio(value, low, math.inf)) if one.bounds else estimate(value, low, high)
    return [AXES[one.axis].words, f"{len(one.points)}", estimate(*one.agreement), f"{one.alike:.2f}", regret, count]


def _miss(results: Results, name: str, one: Missed) -> str:
    at = factors.in_words(results.suite.point(name).levels)
    return (
        f"{name} ({at}): {one.first} costs {f'{AT_LEAST} ' if one.is_bound else ''}{ratio(one.ratio)} times as much as {one.best}"
    )
