"""Advice in plain words, at most 25 lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fedbench.analysis.map.kept import Costs
from fedbench.analysis.map.parts import MapPart
from fedbench.written import AT_LEAST, NONE, bound, counted, estimate, percent, ratio

if TYPE_CHECKING:
    from fedbench.suites.advice.advise import Advice, Choice

INDENT = "  "
TITLES = {"seconds": "virtual seconds", "gradient_evaluations": "gradients"}


def lines(advice: Advice) -> list[str]:
    """Returns the answer, one sentence or one row a line."""
    columns, rows = table(advice)
    every = [columns, *rows]
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    laid = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in every]
    return [*answer(advice), *laid, *rest(advice)]


def answer(advice: Advice) -> tuple[str, str]:
    """Returns what to take, and how sure that is."""
    best = f"within 10 % of the fewest {_title(advice.cost)}"
    here = ", if it is as on the map, which has no such scenario" if advice.outside else ""
    if advice.worth is not None:
        return (
            f"{advice.scenario}: try {_listed([choice.algorithm for choice in advice.choices])}.",
            f"The map does not predict {_title(advice.cost)} between its points. Of the {counted(advice.among, 'algorithm')} that can "
            f"run here and have runs at the nearest points ({', '.join(advice.measured_at[advice.cost])}), these cost least there"
            f"{'. The map has no such scenario, so that may say little' if advice.outside else ''}.",
        )
    if advice.is_sure:
        one = "it" if len(advice.choices) == 1 else "one of them"
        return (
            f"{advice.scenario}: take {_listed([choice.algorithm for choice in advice.choices])}.",
            f"Of the {counted(advice.among, 'algorithm')} that can run here, {one} is {best} with a probability of 90 % or more{here}.",
        )
    return (
        f"{advice.scenario}: cannot say.",
        f"Of the {counted(advice.among, 'algorithm')} that can run here, it takes {advice.needed} to have one {best} with a probability of "
        f"90 %{here}. The most probable ones:",
    )


def table(advice: Advice) -> tuple[list[str], list[list[str]]]:
    """Returns the columns and the rows of the table of choices."""
    costs = [advice.cost, *advice.others]
    rows = []
    for choice in advice.choices:
        close = [] if choice.probability is None else [percent(choice.probability)]
        rows.append([choice.algorithm, *close, *(_ratio(advice, choice, cost) for cost in costs)])
    return ["algorithm", *([] if advice.worth else ["close"]), *(_title(cost) for cost in costs)], rows


def _ratio(advice: Advice, choice: Choice, cost: str) -> str:
    """Returns a ratio with its interval, or with the smallest and the largest of what was
    measured."""
    found = choice.ratios.get(cost)
    if found is None:
        return NONE
    if cost not in advice.measured_at:
        return str(found)
    return f"{bound(ratio(found.value), cost in choice.at_least)} ({ratio(found.low)} to {ratio(found.high)})"


def rest(advice: Advice) -> Iterator[str]:
    """Yields what else there is to say. Lines that are copied begin with two spaces."""
    yield from _meaning(advice)
    others = [f"fewest {_title(cost)}: {_listed(list(names)) or 'cannot say'}" for cost, names in advice.others.items()]
    if others:
        yield f"For other costs: {'; '.join(others)}."
    if advice.with_public_data:
        name = advice.with_public_data[0].algorithm
        yield f"With the server's public data also try {name}; such algorithms are compared with each other alone."
    yield from ("", *_options(advice), "", *_place(advice))


def _meaning(advice: Advice) -> Iterator[str]:
    """Yields what the numbers of the table are, and what such an answer was worth."""
    if len(advice.measured_at) <= len(advice.others):
        close = '; "close" is the probability to be within 10 % of it' if advice.worth is None else ""
        yield f"Costs are over those of the best, with 95 % intervals{close}."
    if advice.measured_at:
        yield (
            "With round brackets, costs are over those of the best at each of the nearest points: the mean, with the smallest and the "
            f"largest; {AT_LEAST}: a lower bound, since a run missed a target."
        )
    if advice.worth is not None:
        found, (low, high) = advice.worth, advice.worth.interval
        yield (
            f"Test: leaving out each of the {found.points} points of the map in turn, one of five so named holds all targets and is within "
            f"10 % of the best at {found.hits} ({percent(low)} to {percent(high)}), the first at {found.first}; of five from all other "
            f"points, one is at {found.everywhere}."
        )


def _options(advice: Advice) -> Iterator[str]:
    choices = (*advice.choices, *advice.with_public_data[:1])
    points = sorted({choice.tuned_at for choice in choices if choice.tuned_at})
    where = f" (tuned at {_listed(points, 'and')} of the map)" if points else ""
    yield f"Options to start from{where}, and a command that compares them on the scenario:"
    yield from (f"{INDENT}{choice.selector}" for choice in choices)
    yield f"{INDENT}{advice.command}"


def _place(advice: Advice) -> Iterator[str]:
    yield f"Measured: {', '.join(map(str, advice.levels))}."
    if advice.measured_at and advice.worth is None:
        costs, points = [_title(cost) for cost in advice.measured_at], next(iter(advice.measured_at.values()))
        yield f"Nearest points, for {_listed(costs, 'and')}: {_listed(list(points), 'and')}."
    if advice.outside:
        far = " That is far outside: take the answer as a guess, and let fedbench race compare them."
        known = f" Known of other tasks: {'; '.join(advice.transfer)}." if advice.transfer else ""
        yield f"Not measured by the map: {'; '.join(advice.outside)}.{known}{far if advice.is_far else ''}"
    yield advice.basis


def basis(about: MapPart, costs: Costs) -> str:
    """Returns what an answer rests on."""
    points = counted(len(costs.points["point"]), "point")
    few, most = about.seeds
    seeds = f"{few} to {most} seeds" if few < most else f"{most} seeds"
    return f"Rests on suite {about.suite}: {points}, {seeds}, {about.records:,} records, commit {about.commit:.12}, {about.made}."


def transferred(about: MapPart, cost: str) -> Iterator[str]:
    """Yields how far the order of the algorithms by a cost was the same elsewhere."""
    for one in about.transfer:
        if one.axis == cost:
            yield f"{one.where}, rank agreement {estimate(one.agreement, one.low, one.high)} at {counted(one.points, 'point')}"


def _title(cost: str) -> str:
    return TITLES.get(cost, cost)


def _listed(names: list[str], last: str = "or") -> str:
    """Returns `a, b or c`."""
    return f" {last} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
