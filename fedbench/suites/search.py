"""Searches for options: which method a suite names, and how far a search comes with the outcomes
that are there."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from fedbench.engine.spec import RunSpec
from fedbench.suites.halving import halving
from fedbench.suites.space import Space
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuning import Choice, Find, Outcome, Search, Trial, choose, trials, tuning_of
from fedbench.suites.tuning_parts import Halving


def search(suite: Suite, space: Space, point: Point, selector: str, draw: int = 0) -> Search:
    """Returns the search of an algorithm's options at a point by the method of the suite.

    Args:
        suite: the suite.
        space: its search space.
        point: one of its points.
        selector: one of its algorithms.
        draw: its number. Every draw has a scrambling and tuning seeds of its own, so that draws are
            independent.

    Raises:
        UsageError: if the suite does not tune.
    """
    return (halving if isinstance(tuning_of(suite), Halving) else at_once)(suite, space, point, selector, draw)


def at_once(suite: Suite, space: Space, point: Point, selector: str, draw: int) -> Search:
    """Returns the search of the rule in tuning.py, which asks once."""
    several = list(trials(suite, space, [point], [selector], draw))
    found = yield several
    return choose(
        {one.number: one.options for one in several}, {one.number: runs for one, runs in zip(several, found, strict=True)}
    )


@dataclass(frozen=True)
class Progress:
    """How far a search has come.

    ended: the trials all of whose runs have an outcome, with them. A trial is there once for every
    rung in which it was.
    asked: all runs that were asked for so far.
    wanted: those among them that have no outcome.
    choice: what was chosen, None while runs are wanted.
    """

    ended: list[tuple[Trial, list[Outcome]]]
    asked: list[RunSpec]
    wanted: list[RunSpec]
    choice: Choice | None


def advanced(search: Search, find: Find) -> Progress:
    """Returns how far a search comes with the outcomes that are there."""
    ended: list[tuple[Trial, list[Outcome]]] = []
    asked: list[RunSpec] = []
    several = next(search)
    while True:
        found = [[(spec, find(spec)) for spec in trial.specs] for trial in several]
        known = [[outcome for _, outcome in runs if outcome is not None] for runs in found]
        asked += [spec for trial in several for spec in trial.specs]
        ended += [(trial, runs) for trial, runs in zip(several, known, strict=True) if len(runs) == len(trial.specs)]
        if wanted := [spec for spec, outcome in itertools.chain(*found) if outcome is None]:
            return Progress(ended, asked, wanted, None)
        try:
            several = search.send(known)
        except StopIteration as end:
            return Progress(ended, asked, [], end.value)


def collect(
    suite: Suite, space: Space, find: Find, draws: Iterable[int]
) -> tuple[list[tuple[Trial, list[Outcome]]], dict[int, dict[tuple[str, str], Choice]]]:
    """Returns all trials whose runs have all ended, with their outcomes, and for every draw the
    choices by point and selector where the search has come to its end."""
    ended: list[tuple[Trial, list[Outcome]]] = []
    choices: dict[int, dict[tuple[str, str], Choice]] = {}
    for draw, point, selector in itertools.product(sorted(draws), suite.points, suite.selectors()):
        found = advanced(search(suite, space, point, selector, draw), find)
        ended += found.ended
        if found.choice is not None:
            choices.setdefault(draw, {})[point.name, selector] = found.choice
    return ended, choices
