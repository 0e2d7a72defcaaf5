"""Sentences that say what the runs of a suite show."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedbench.analysis.board import Board
from fedbench.suites.findings.markdown import interval
from fedbench.suites.findings.numbers import BASELINE, family_bound, family_gap, first_at, gap, gap_bound, points_of, ratio
from fedbench.suites.findings.results import Results
from fedbench.suites.suite import Point

DEFINITIONS = (
    "**Time to the targets**: virtual seconds until a test accuracy is reached, as the mean over the targets; smaller is better. A target "
    "that is not reached counts with the whole budget, so the time of a row that misses targets says too little.",
    "A **ratio** of times is marked ≥ if the first-named row misses targets, ≤ if the other one does, and ? if both do. Ratios over "
    "several points are not marked.",
    "**First** at a point are the earliest row and all rows that the seeds cannot tell from it. That does not say that they are equal, and "
    "a row that scatters more is harder to tell from the earliest.",
    "**Like for like** are the rows without public data that let no more clients work at a time than the suite sets.",
    "**Synchronous** algorithms work in rounds, and a round waits for its clients. **Asynchronous** ones do not wait.",
    "**Brackets** are 95 % intervals over seeds, each by itself, for these scenarios.",
)
"""What the words of findings mean, in Markdown."""


def short_lines(results: Results) -> list[str]:
    """Returns what a visitor should know first, as sentences in Markdown; none without tuned
    rows."""
    return [*_leaders(results), *_gaps(results), *_families(results), *_options(results), *_broken(results)]


def in_short(results: Results) -> str:
    """Returns `short_lines` as a section of a page; nothing without tuned rows."""
    lines = short_lines(results)
    return "\n".join(["### In short", "", *(f"- {line}" for line in lines)]) if lines else ""


def _leaders(results: Results) -> Iterator[str]:
    """Yields sentences on which rows are first at most points."""
    groups = {"Of all rows with tuned options": results.tuned}
    if results.advantaged:
        groups["Like for like"] = results.like_for_like
    for words, boards in groups.items():
        counts = {name: first_at(boards, name) for name in results.names}
        order = sorted((name for name in counts if counts[name]), key=lambda name: (-counts[name], name))
        if order:
            told = ", ".join(f"`{name}` {_of(counts[name], len(points_of(boards, name)), len(boards))}" for name in order)
            yield f"{words}, these are first, or cannot be told from the first, at so many of {len(boards)} points: {told}."


def _of(count: int, points: int, all_points: int) -> str:
    """Returns the count, and the number of points of the row if it is not at all points."""
    return f"{count}" if points == all_points else f"{count} (of {points})"


def _gaps(results: Results) -> Iterator[str]:
    """Yields a sentence on where the baseline is farthest from the earliest row, and where it is
    nearest."""
    found = {point: of_point for point, board in results.like_for_like.items() if (of_point := gap(board)) is not None}
    if len(found) < 2:
        return
    order = sorted(found, key=lambda point: found[point].value)
    most, whole = order[-1], [point for point in order if not gap_bound(results.like_for_like[point])]
    text = (
        f"The time of `{BASELINE}` over that of the earliest row{', like for like,' if results.advantaged else ''} is largest at {most}: "
        f"{interval(found[most], bound=gap_bound(results.like_for_like[most]))}"
    )
    if whole and whole[0] != most:
        text += f". Of the points where neither misses a target it is smallest at {whole[0]}: {interval(found[whole[0]])}"
    yield f"{text}."


def _families(results: Results) -> Iterator[str]:
    """Yields a sentence on where rounds cost most, and where least."""
    boards = results.like_for_like.items()
    found = {point: of_point for point, board in boards if (of_point := family_gap(board, results.synchronous)) is not None}
    if len(found) < 2:
        return
    order = sorted(found, key=lambda point: found[point].value)
    alike = ", like for like," if results.advantaged else ""
    yield (
        f"The time of the earliest synchronous row over that of the earliest asynchronous one{alike} is largest at {order[-1]}, "
        f"{_families_at(results, order[-1])}, and smallest at {order[0]}, {_families_at(results, order[0])}."
    )


def _families_at(results: Results, point: str) -> str:
    board = results.like_for_like[point]
    return interval(family_gap(board, results.synchronous), bound=family_bound(board, results.synchronous))


def _options(results: Results) -> Iterator[str]:
    """Yields a sentence on how much time tuning saves."""
    found = {name: both for name in results.names if (both := ratio(results.tuned, name, results.published, name)) is not None}
    if len(found) < 2:
        return
    order = sorted(found, key=lambda name: found[name].value)
    middle = float(np.median([both.value for both in found.values()]))
    yield (
        f"The time with published options over that with tuned ones is {middle:.2f} for the median algorithm, least for `{order[0]}`, "
        f"{interval(found[order[0]])}, and largest for `{order[-1]}`, {interval(found[order[-1]])}."
    )


def _broken(results: Results) -> Iterator[str]:
    """Yields sentences on the rows with runs that did not finish."""
    for kind, boards in results.boards.items():
        broken: dict[str, int] = {}
        for found in boards.values():
            for one in found.standings:
                broken[one.row] = broken.get(one.row, 0) + one.unfinished
        told = ", ".join(f"`{name}` {number}" for name, number in sorted(broken.items()) if number)
        if told:
            yield f"Runs with {kind} options that did not finish, over all points: {told}. They count as having reached nothing."


def of_point(results: Results, point: str) -> str:
    """Returns sentences in Markdown on who is first at a point with tuned options, by how much, and
    what rounds cost there; nothing without rows."""
    board, alike = results.tuned.get(point), results.like_for_like.get(point)
    if board is None:
        return ""
    lines = [f"First: {_told(board)}."]
    if alike is None:
        return lines[0]
    words = "Like for like" if results.advantaged else "Of all rows"
    if results.advantaged:
        lines.append(f"Like for like, first: {_told(alike)}.")
    if (lead := gap(alike)) is not None:
        lines.append(f"{words}, the time of `{BASELINE}` over the earliest row's is {interval(lead, bound=gap_bound(alike))}.")
    if family_gap(alike, results.synchronous) is not None:
        lines.append(
            f"{words}, the earliest synchronous row's over the earliest asynchronous one's is {_families_at(results, point)}."
        )
    return " ".join(lines)


def _told(board: Board) -> str:
    """Returns the earliest row of a board, and those that cannot be told from it."""
    if not board.first:
        return "nobody reaches a target"
    earliest, *others = [f"`{one.row}`" for one in board.first]
    told = f"{earliest} ({board.first[0].mean.mean:.1f} s)"
    return f"{told}. The seeds cannot tell {_listed(others)} from it" if others else told


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def hardest(results: Results) -> str:
    """Returns the section on who reaches the hardest target of every point; nothing without tuned
    rows."""
    if not results.tuned:
        return ""
    lines = [
        f"- **{point.name}**{_described(point)}. {_arrivals(results.tuned[point.name])}."
        for point in results.suite.points
        if point.name in results.tuned
    ]
    text = (
        "On the front, of the rows that reach it with every seed: those than which none has both smaller mean seconds and bytes."
    )
    return "\n".join(["### Who reaches the hardest target", "", text, "", *lines])


def _described(point: Point) -> str:
    axis, about = f" ({point.axis})" if point.axis else "", point.about.strip().removesuffix(".")
    return f"{axis}: {about}" if about else axis


def _arrivals(board: Board) -> str:
    target = max(arrival.target for one in board.standings for arrival in one.arrivals)
    arrived = [
        (one.row, arrival)
        for one in board.standings
        for arrival in one.arrivals
        if one.place is not None and arrival.target == target
    ]
    every = [row for row, arrival in arrived if arrival.hits == len(arrival.reached)]
    never = [row for row, arrival in arrived if arrival.hits == 0]
    parts = [f"{100 * target:g} % is reached with every seed by {len(every)} of {len(arrived)} rows"]
    if never:
        parts.append(f"with no seed by {', '.join(never)}")
    medians = {row: arrival.median for row, arrival in arrived if arrival.median is not None}
    if medians:
        earliest = min(medians, key=lambda row: medians[row])
        parts.append(f"the earliest median is that of {earliest}, {medians[earliest]:g} s")
    front = board.front(target)
    if front:
        parts.append(f"on the front of seconds and bytes {'is' if len(front) == 1 else 'are'} {', '.join(front)}")
    return "; ".join(parts)
