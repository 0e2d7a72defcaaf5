"""What the runs of a suite say, in sentences that are true of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedbench.analysis.board import Board, Standing
from fedbench.suites.findings.markdown import interval
from fedbench.suites.findings.results import BASELINE, Results, first_at, gain, ratio


def in_short(results: Results) -> str:
    """Returns what a visitor should know first."""
    lines = [*_leaders(results), *_gains(results), *_options(results), *_broken(results)]
    return "\n".join(["### In short", "", *(f"- {line}" for line in lines)]) if lines else ""


def _leaders(results: Results) -> Iterator[str]:
    """Who is among the first most often."""
    groups = {"with tuned options": results.tuned}
    if np.isfinite(results.limit):
        groups[f"among rows that keep {_limit(results)}"] = results.limited
    for words, boards in groups.items():
        counts = {name: first_at(boards, name) for name in results.names}
        best = sorted(counts, key=lambda name: (-counts[name], name))[:5]
        if best and counts[best[0]]:
            told = ", ".join(f"`{name}` {counts[name]}" for name in best if counts[name])
            yield f"First, or not to be told from the first, most often {words}: {told}, of {len(boards)} points."


def _limit(results: Results) -> str:
    return f"at most {results.limit:g} clients at work"


def _gains(results: Results) -> Iterator[str]:
    """Where another algorithm than the baseline gains most and least."""
    found = {point: of_point for point, board in results.limited.items() if (of_point := gain(board)) is not None}
    if len(found) > 1:
        most, least = max(found, key=lambda point: found[point].value), min(found, key=lambda point: found[point].value)
        yield (
            f"`{BASELINE}` needs {interval(found[most])} times as long as the earliest row{of_limited(results)} at {most}, where the gap "
            f"is largest, and {interval(found[least])} times at {least}, where it is smallest."
        )


def of_limited(results: Results) -> str:
    """Returns which rows `limited` has, to stand behind a noun; nothing if it has all."""
    return f" with {_limit(results)}" if np.isfinite(results.limit) else ""


def _options(results: Results) -> Iterator[str]:
    """What the options are worth."""
    found = {name: both for name in results.names if (both := ratio(results.tuned, name, results.published, name)) is not None}
    if found:
        order = sorted(found, key=lambda name: found[name].value)
        middle, least, most = float(np.median([both.value for both in found.values()])), order[0], order[-1]
        yield (
            f"Published options need {middle:.2f} times as long as tuned ones (median over algorithms), from "
            f"{interval(found[least])} for `{least}` to {interval(found[most])} for `{most}`."
        )


def _broken(results: Results) -> Iterator[str]:
    """Whose runs did not finish."""
    for kind, boards in (("tuned", results.tuned), ("published", results.published)):
        broken: dict[str, int] = {}
        for found in boards.values():
            for one in found.standings:
                broken[one.row] = broken.get(one.row, 0) + one.unfinished
        told = ", ".join(f"`{name}` {number}" for name, number in sorted(broken.items()) if number)
        if told:
            yield f"Runs with {kind} options that did not finish, over all points: {told}. They count as having reached nothing."


def hardest(results: Results) -> str:
    """Returns who reaches the hardest target, point by point."""
    if not results.tuned:
        return ""
    target = max(results.targets)
    lines = [
        f"- **{point.name}**: {_arrivals(results.tuned[point.name], target)}."
        for point in results.suite.points
        if point.name in results.tuned
    ]
    return "\n".join([f"### Who reaches {100 * target:g} %, with tuned options", "", *lines])


def _arrivals(board: Board, target: float) -> str:
    arrived = [(one, _arrival(one, target)) for one in board.standings if one.place is not None]
    every = [one.row for one, hits in arrived if hits == len(one.seconds)]
    never = [one.row for one, hits in arrived if hits == 0]
    parts = [f"{len(every)} of {len(arrived)} rows reach it with every seed"]
    if never:
        parts.append(f"with no seed {', '.join(never)}")
    front = board.front(target)
    if front:
        parts.append(f"nobody is both earlier there and sends less than {' or '.join(front)}")
    return "; ".join(parts)


def _arrival(one: Standing, target: float) -> int:
    return sum(arrival.hits for arrival in one.arrivals if arrival.target == target)
