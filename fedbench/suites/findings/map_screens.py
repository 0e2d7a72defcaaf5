"""The screens with which the page of a suite with a design begins: which algorithm for which
heterogeneity, what to take if one knows nothing, what waiting costs, and how sure that is.

An axis that is predicted at the points held out is shown by its model, also between points. Of the
others there is what was measured at the points (`map_points`), and nothing in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fedbench import written
from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.board import BOARD_AXES
from fedbench.analysis.map.answers import SURE
from fedbench.suites.design.schema import Value
from fedbench.suites.findings import map_points
from fedbench.suites.findings.map_points import UNITS
from fedbench.suites.findings.map_sure import how_sure
from fedbench.suites.findings.markdown import table
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import factors
from fedbench.suites.mapped.factors import AT_WORK, SPREAD, told
from fedbench.suites.mapped.statements import Advice, Always, Map
from fedbench.written import Ratio, counted, estimate, percent

MOST_NAMED, MOST_ALWAYS, LIKELY, LEAST = 4, 10, 3, 0.01


def of_map(results: Results, said: Map) -> Iterator[str]:
    """Yields the sections of a map, in Markdown."""
    predicted = [axis for axis in BOARD_AXES if said.predicts(axis)]
    yield f"## Which algorithm for which heterogeneity? ({results.suite.name})"
    yield _head(results, said, predicted)
    if predicted:
        yield "### What to take"
        yield from _decisions(results, said, predicted)
    yield "### If you know nothing"
    yield from _always(said) if SECONDS.name in predicted else map_points.worst(results)
    if SECONDS.name not in predicted:
        yield "### What costs little where"
        yield from map_points.levels(results)
    yield "### What waiting costs"
    yield from _waiting(results, said) if SECONDS.name in predicted else map_points.waiting(results)
    yield "### How sure the map is"
    yield from how_sure(results, said)
    if SECONDS.name in predicted:
        yield "### Where each may be the best"
        yield _regions(said)
    if len(predicted) < len(BOARD_AXES):
        yield "### What was measured"
        yield from map_points.measured(results, [axis for axis in BOARD_AXES if axis not in predicted])


def _head(results: Results, said: Map, predicted: Sequence[str]) -> str:
    few, most = said.seeds
    seeds = f"{few} seeds" if few == most else f"{few} to {most} seeds"
    text = (
        f"{results.suite.about} {len(results.names)} algorithms at {len(said.design)} points, with {seeds}; the model has "
        f"{len(said.algorithms)} of those without public data. A cost is what a run spends "
        "until it holds the targets; only algorithms with as many clients at work, and without public data, compete. Brackets are 95 % "
        "intervals."
    )
    left = [AXES[axis].words for axis in BOARD_AXES if axis not in predicted]
    if not said.judged:
        return f"{text} **No point held out can be judged, so nobody knows whether the map predicts. It is a table of points.**"
    if not predicted:
        return (
            f"{text} **The map does not predict points that it has not seen. It is a table of points, with nothing in between.**"
        )
    if left:
        return f"{text} **The map does not predict {' and '.join(left)} at points that it has not seen: there it is a table of points.**"
    return text


# ---- which algorithm ----


def _decisions(results: Results, said: Map, predicted: Sequence[str]) -> Iterator[str]:
    """Yields the decision map: kinds of heterogeneity by clients at work and axis."""
    design = results.suite.designed()
    columns = list(dict.fromkeys((one.axis, one.at_work) for one in said.advice if one.axis in predicted))
    cells = {(one.words, one.axis, one.at_work): _advice(one) for one in said.advice}
    head = ["heterogeneity", *(_column(results, axis, at_work) for axis, at_work in columns)]
    rows = [[one.words, *(cells.get((one.words, *column), "") for column in columns)] for one in factors.cases(design)]
    middle = factors.in_words({name: level for name, level in factors.base(design).items() if name != AT_WORK})
    yield (
        f"The middle is {middle}; each line changes one of these. A cell has the algorithm with the smallest mean regret and its "
        f"cost, then others to try, with their cost over the smallest. With a probability of {percent(SURE)} one of the cell costs at "
        "most 10 % more than the best."
    )
    yield table(head, rows)
    yield from without_points(said, columns)


def without_points(said: Map, columns: Sequence[tuple[str, Value | None]]) -> Iterator[str]:
    """Yields which numbers of clients at work of some columns no point of the design has."""
    asked = {told(at_work) for _, at_work in columns if at_work is not None}
    for level, around in said.no_points.items():
        if level in asked:
            yield f"No point of the design has {level} at work. What is said there lies between {' and '.join(map(told, around))}."


def _column(results: Results, axis: str, at_work: Value | None) -> str:
    work = "" if at_work is None else f", {work_of(results, at_work)} at work"
    return f"{'' if axis == SECONDS.name or at_work is None else 'fewest '}{UNITS[axis]}{work}"


def work_of(results: Results, at_work: Value) -> str:
    """Returns a number of clients at work as a text: `all` if it is that of all clients."""
    is_all = isinstance(at_work, float) and all(
        results.suite.scenario_at(point).clients <= at_work for point in results.suite.points if point.kind == "design"
    )
    return "all" if is_all else told(at_work)


def _advice(one: Advice) -> str:
    first, *others = one.tries
    named = [f"{name} {estimate(*one.tries[name])}" for name in others[: MOST_NAMED - 1]]
    more = [f"{len(others) - len(named)} more"] if len(others) > len(named) else []
    return f"**{first}** {written.cost_between(one.cost, one.axis)}" + "".join(f"; {text}" for text in [*named, *more])


# ---- what to take if one knows nothing ----


def _always(said: Map) -> Iterator[str]:
    axes = [axis for axis in BOARD_AXES if said.predicts(axis)]
    for at_work in dict.fromkeys(one.at_work for one in said.always):
        found = {(one.algorithm, one.axis): one for one in said.always if one.at_work == at_work}
        order = [one.algorithm for one in said.always if (one.at_work, one.axis) == (at_work, SECONDS.name)]
        head = ["algorithm", "cost / smallest cost", "worst", "at", *(f"{UNITS[axis]} / fewest" for axis in axes[1:])]
        rows = []
        for name in order[:MOST_ALWAYS]:
            one = found[name, SECONDS.name]
            others = [found.get((name, axis)) for axis in axes[1:]]
            rows.append([name, estimate(*one.mean), _worst(one), one.worst_at,
                         *("" if other is None else estimate(*other.mean) for other in others)])  # fmt: skip
        count = max(one.points for one in said.always if one.at_work == at_work)
        where = f"{counted(count, 'point')} of the design" + ("" if at_work is None else f" with {told(at_work)} at work")
        left = [name for name in said.algorithms if name not in order]
        text = (
            f"What it costs to always use one algorithm, as its cost over that of the best: the geometric mean over {where}, and the "
            "largest that was measured at one of them."
        )
        more = f" The next {len(order) - MOST_ALWAYS} are left out." if len(order) > MOST_ALWAYS else ""
        yield text + more + (f" Not everywhere: {', '.join(left)}." if left else "")
        yield table(head, rows)


def _worst(one: Always) -> str:
    value, low, high = one.worst
    return str(Ratio.of(one.worst)) if high is None else estimate(value, low, high)


# ---- what waiting costs ----


def _waiting(results: Results, said: Map) -> Iterator[str]:
    found = {
        (one.levels[SPREAD], one.levels[AT_WORK]): "" if one.ratio is None else estimate(*one.ratio)
        for one in said.prices
        if one.axis == SECONDS.name
    }
    if not found:
        yield f"The design has no {SPREAD} or no {AT_WORK}, or all algorithms are of one kind."
        return
    unit = results.suite.designed().factors[SPREAD].unit
    first, second = (dict.fromkeys(pair[place] for pair in found) for place in (0, 1))
    yield (
        "The cost in seconds of the best algorithm that works in rounds over that of the best one that does not wait, with all else in the "
        f"middle. Above 1 waiting costs; lines are the spread of speeds{f' ({unit})' if unit else ''}."
    )
    yield table(["spread", *(f"{told(b)} at work" for b in second)], [[told(a), *(found[a, b] for b in second)] for a in first])


# ---- where ----


def _regions(said: Map) -> str:
    """Returns the table of probabilities, by skew and clients at work and by every factor."""
    head = ["where", *(f"{UNITS[axis]}" for axis in BOARD_AXES if said.predicts(axis))]
    found: dict[str, list[str]] = {}
    for one in said.regions:
        if said.predicts(one.axis):
            order = sorted(one.close.items(), key=lambda item: (-item[1], item[0]))[:LIKELY]
            likely = [item for item in order if item[1] >= LEAST]
            found.setdefault(factors.in_words(one.levels), []).append(
                ", ".join(f"{name} {percent(share)}" for name, share in likely)
            )
    text = (
        "The probability that an algorithm is within 10 % of the best, as the mean over all possible points with these levels; the "
        f"largest {LIKELY}. They do not add up to 100 %."
    )
    return "\n\n".join([text, table(head, [[where, *cells] for where, cells in found.items()])])
