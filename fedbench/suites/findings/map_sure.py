"""How sure a map is: seeds, luck, and whether it predicts points that it has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.map.prediction import LEAST_HITS, MOST_ERROR, MOST_ROWS
from fedbench.suites.findings import numbers
from fedbench.suites.findings.markdown import table
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import factors
from fedbench.suites.mapped.statements import Judged, Map
from fedbench.written import counted, estimate, percent, ratio


def how_sure(results: Results, said: Map) -> Iterator[str]:
    few, most = said.seeds
    own = {one.axis: one for one in said.sure}[SECONDS.name]
    lines = [
        f"Seeds: at a point of the design a row has {few}{f' to {most}' if most > few else ''}. {percent(said.censored)} of the runs "
        "miss a target; to the model they cost more than what they had spent when it could last be reached. Standard deviations of log "
        f"seconds: {own.seed:.2f} between seeds, which all algorithms share; {own.noise:.2f} within a seed, for the median algorithm.",
        f"What factors do not say: log seconds of an algorithm at a point differ from what the model says by {estimate(*own.fit)} "
        "(standard deviation). The luck of its options, which were tuned once, is part of this and of all intervals; points that have "
        "their options from one anchor share it.",
    ]
    if said.luck is not None:
        lines.append(
            "Luck: independent tunings at the same point end with winners whose times differ by "
            f"{said.luck:.2f} (standard deviation of the logarithm, on the validation part)."
        )
    lines += _boards(boards(results))
    if said.public_data:
        lines.append(f"With public data, and so compared with none of the others: {', '.join(said.public_data)}.")
    lines += [f"Left out, {reason}: {names}." for reason, names in by_reason(said.left_out).items()]
    yield "\n".join(f"- {line}" for line in lines)
    if said.judged:
        yield from _prediction(results, said)


@dataclass(frozen=True)
class Boards:
    """How sure the boards of several rows are at the points of the design, which have as many
    seeds: the median of the ratios that they show, of how many boards, and at how many the rule of
    holding a target decides who is the cheapest."""

    resolution: float | None
    count: int
    changed: int


def boards(results: Results) -> Boards:
    design = {point.name for point in results.suite.points if point.kind == "design"}
    several = [
        (kind, point, one)
        for kind in results.systems
        for point, one in numbers.rankings(results, kind).items()
        if point in design and len(one.rows) > 1
    ]
    shown = [one.resolution for _, _, one in several if one.resolution is not None]
    changed = sum(len(set(numbers.leaders(results, kind, point).values())) > 1 for kind, point, _ in several)
    return Boards(median(shown) if shown else None, len(several), changed)


def _boards(found: Boards) -> Iterator[str]:
    if found.resolution is not None:
        yield (
            f"Resolution: a board of the design shows a ratio of {ratio(found.resolution)} with a probability of 80 % (the median of "
            f"{counted(found.count, 'board')})."
        )
    yield f"At {found.changed} of {counted(found.count, 'board')} the cheapest algorithm depends on the rule of holding a target."


def _prediction(results: Results, said: Map) -> Iterator[str]:
    yield (
        "Prediction of the points held out. The error is the root mean square of that of log(cost / best) over all algorithms in a set "
        f"of the best. It is to be at most {MOST_ERROR:.2f}, and below those of the nearest point and of main effects alone. The map is "
        f"to name at most {MOST_ROWS} algorithms (the median), and at {percent(LEAST_HITS)} of the points one of them is to be within "
        "10 % of the best: a hit."
    )
    head = ("axis", "error", "nearest point", "main effects", "named", "hits", "verdict")
    yield table(head, [_judged(one) for one in said.judged])
    for one in said.judged:
        places = [f"{name} ({factors.in_words(results.suite.point(name).levels)})" for name in one.missed]
        if places:
            yield f"{AXES[one.axis].words.capitalize()}: none of those named is within 10 % of the best at {'; '.join(places)}."
        if one.bounds:
            yield (
                f"{AXES[one.axis].words.capitalize()}: the error is of {counted(one.exact, 'cost')}. {counted(one.bounds, 'other')} missed "
                f"a target with some seed, so that only a lower bound is known; {one.too_low} of them are predicted too low, and count too."
            )
    undecided: dict[tuple[str, str], list[str]] = {}
    for one in said.judged:
        for reason, names in by_reason(one.undecided).items():
            undecided.setdefault((names, reason), []).append(AXES[one.axis].words)
    for (names, reason), axes in undecided.items():
        yield f"{', '.join(axes).capitalize()}: not judged, and counted as no hit: {names}: {reason}."


def by_reason(found: Mapping[str, str]) -> dict[str, str]:
    """Returns by reason the names that have it, `a, b`."""
    return {reason: ", ".join(name for name, why in found.items() if why == reason) for reason in found.values()}


def _judged(one: Judged) -> list[str]:
    count = len(one.rows) + len(one.undecided)
    hits = f"{len(one.rows) - len(one.missed)} of {count}"
    errors = [ratio(value) for value in (one.error, one.nearest, one.main)]
    verdict = "predicts" if one.predicts else "**does not predict**"
    return [AXES[one.axis].words, *errors, f"{median(one.rows.values()):g}", hits, verdict]
