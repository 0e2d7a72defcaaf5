"""Searches for options: which method a suite names, and how far a search comes with the outcomes
that are there."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.suites.anchors import Near, nearest
from fedbench.suites.halving import elsewhere, halving
from fedbench.suites.price import planned
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


class Searches:
    """The searches of a suite in one draw, with the outcomes that are there now. At a point that is
    no anchor, a search begins when that of its nearest anchor has ended. Anchors are planned, so
    MissingDataError is raised if the data are not on this machine."""

    def __init__(self, suite: Suite, space: Space, find: Find, draw: int = 0) -> None:
        self.suite, self.space, self.find, self.draw = suite, space, find, draw
        self._near: dict[tuple[str, str], Near | None] = {}
        self._runs: dict[tuple[str, str], bool] = {}
        self._known: dict[tuple[str, str], Progress] = {}

    def near(self, point: Point, selector: str) -> Near | None:
        """Returns the nearest anchor of a point that is none, at which the algorithm runs; None if
        there is none."""
        assert self.suite.anchors is not None
        key = point.name, selector
        if key not in self._near:
            self._near[key] = nearest(self.suite.anchors, self.suite.places, point.name, lambda one: self.runs_at(one, selector))
        return self._near[key]

    def runs_at(self, point: str, selector: str) -> bool:
        """Returns whether an algorithm runs at the point of this name."""
        if (point, selector) not in self._runs:
            at = self.suite.point(point)
            spec = RunSpec(self.suite.scenario_at(at), self.suite.algorithm(selector, at=at), self.suite.seeds.first)
            self._runs[point, selector] = not planned(spec)[1]
        return self._runs[point, selector]

    def progress(self, point: Point, selector: str) -> Progress:
        """Returns how far the search of an algorithm at a point comes. If it waits for a choice at
        its anchor, or has none, nothing is asked for."""
        key = point.name, selector
        if key not in self._known:
            self._known[key] = self._progress(point, selector)
        return self._known[key]

    def _progress(self, point: Point, selector: str) -> Progress:
        if not self.suite.is_elsewhere(point):
            return advanced(search(self.suite, self.space, point, selector, self.draw), self.find)
        near = self.near(point, selector)
        chosen = None if near is None or self.draw else self.choice(near.point, selector)
        if near is None or chosen is None:
            return Progress([], [], [], None)
        return advanced(elsewhere(self.suite, self.space, point, selector, chosen, near), self.find)

    def choice(self, anchor: str, selector: str) -> Choice | None:
        """Returns what was chosen at an anchor, None if the search has not ended."""
        return self.progress(self.suite.point(anchor), selector).choice

    def waiting(self, cells: Iterable[tuple[Point, str]]) -> list[tuple[Point, str, Near]]:
        """Returns the cells among these whose anchor has no choice yet, with the anchor."""
        found = [(point, selector, self.near(point, selector)) for point, selector in cells if self.suite.is_elsewhere(point)]
        return [(point, one, near) for point, one, near in found if near and self.choice(near.point, one) is None]

    def leaders(self, point: Point, selectors: Iterable[str]) -> list[str]:
        """Returns the algorithms whose options are drawn again at an anchor: those whose choices of
        this draw cost least, by the order of the search. References are none of them. UsageError if
        one of the algorithms has no choice there."""
        assert self.suite.anchors is not None
        assert self.suite.anchors.draws is not None
        order: dict[str, tuple[int, float, float]] = {}
        for one in selectors:
            if self.suite.algorithm(one).reference:
                continue
            found = self.choice(point.name, one)
            if found is None:
                raise UsageError(
                    f"suite {self.suite.name}: the leaders at {point.name} are not known, since {one} has no choice there yet; "
                    f"`fedbench tune {self.suite.typed} -p {point.name}` makes it, or name algorithms with -a"
                )
            order[one] = found.score.order
        return sorted(order, key=lambda one: (order[one], one))[: self.suite.anchors.draws.leaders]


def collect(
    suite: Suite, space: Space, find: Find, draws: Iterable[int], others: Sequence[str] = ()
) -> tuple[list[tuple[Trial, list[Outcome]]], dict[int, dict[tuple[str, str], Choice]]]:
    """Returns all trials whose runs have all ended, with their outcomes, and for every draw the
    choices by point and selector where the search has come to its end. `others` are algorithms that
    the suite does not have."""
    ended: list[tuple[Trial, list[Outcome]]] = []
    choices: dict[int, dict[tuple[str, str], Choice]] = {}
    searches = {draw: Searches(suite, space, find, draw) for draw in sorted(draws)}
    for draw, point, selector in itertools.product(searches, suite.points, [*suite.selectors(), *others]):
        found = searches[draw].progress(point, selector)
        ended += found.ended
        if found.choice is not None:
            choices.setdefault(draw, {})[point.name, selector] = found.choice
    return ended, choices
