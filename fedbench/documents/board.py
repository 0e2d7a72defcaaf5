"""The board of a point: its rows with their costs, and the systems in which they are compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from fedbench.analysis import board as boards
from fedbench.analysis.board import Board
from fedbench.analysis.ranking import Ranking
from fedbench.analysis.reaching import Rule
from fedbench.documents.parts import Count, Few, Many, Number, Part, Positive, Ratio, Spent, Text, Word

AXES: tuple[Spent, ...] = ("seconds", "gradient_evaluations", "bytes")


class Reach(Part):
    """What becomes of a target: how many seeds reach it, and the cost, the median and the bytes
    until then."""

    target: Number
    has_verdict: bool
    hits: Count
    cost: Positive
    median: Number | None
    bytes: Number | None


class Cost(Part):
    """The cost of a row on an axis, and that cost over the smallest one of its system. `is_bound`
    says that it is a lower bound, and `is_best` that the row is in the set of the best."""

    cost: Positive | None
    is_bound: bool
    regret: Ratio | None
    is_best: bool


class Standing(Cost):
    """A row of a board, with its cost in virtual seconds.

    Attributes:
        group: its system; None for a reference.
        under_way: the mean number of clients at work.
        costs: those of every seed.
        solved: the share of targets and seeds that it reaches.
        axes: its costs on the other axes.
        against: by the other rows of its system, its cost over theirs with the interval of that one
            pair.
        marks: sentences on how its options were chosen.
    """

    cost: Positive
    label: Text
    group: Word | None
    under_way: Number | None
    costs: Annotated[dict[Word, Positive], Field(max_length=10_000)]
    solved: Number
    unfinished: Count
    targets: Few[Reach]
    axes: dict[Spent, Cost]
    against: Annotated[dict[Text, Ratio | None], Field(max_length=10_000)]
    marks: Few[Text]

    @property
    def ratio(self) -> Ratio | None:
        """Its regret; None if it is compared with no other row."""
        return self.regret if self.against else None

    @property
    def is_ahead(self) -> bool:
        """Whether it is in the set of the best of several rows."""
        return self.is_best and bool(self.against)

    def on(self, axis: Spent) -> Cost | None:
        """Returns its cost on an axis; None for a reference on another axis than seconds."""
        return self if axis == "seconds" else self.axes.get(axis)


class Ranked(Part):
    """The rows of a system on an axis: the cheapest one, the set of the best, the resolution as a
    ratio, and the share of splits of the seeds that agree on the cheapest row."""

    leader: Text | None
    best: Many[Text]
    resolution: Positive | None
    stability: Number | None


class Group(Part):
    """A system of a board: its rows from the cheapest to the dearest, the targets that get a
    verdict, and `leaders` by rule of reaching a target."""

    kind: Word
    words: Word
    at_work: Count
    public_data: bool
    rows: Many[Text]
    targets: Few[Number]
    axes: dict[Spent, Ranked]
    leaders: dict[Rule, Text | None]

    @property
    def place(self) -> tuple[bool, bool, bool, int]:
        """The key by which systems are sorted. Those with public data come last, and before them
        those in which it is not known how many clients work, or all do."""
        return self.public_data, not self.at_work, self.kind.startswith("all "), self.at_work


def standings(board: Board, marks: Mapping[str, tuple[str, ...]] | None = None) -> tuple[Standing, ...]:
    """Returns the rows of a board: references first, then group by group from the smallest cost to
    the largest. `marks` are sentences on how a row's options were chosen."""
    return tuple(_standing(board, one, (marks or {}).get(one.row, ())) for one in board.standings)


def _standing(board: Board, one: boards.Standing, marks: tuple[str, ...]) -> Standing:
    ranking = one.ranking
    others = [row for row in ranking.rows if row != one.row] if ranking is not None else []
    return Standing(
        label=one.row,
        group=None if ranking is None else one.group.kind,
        under_way=one.under_way,
        cost=one.cost,
        is_bound=one.is_bound,
        costs=_by_seed(one),
        regret=_ratio(one.regret),
        is_best=one.is_best,
        solved=one.solved,
        unfinished=one.unfinished,
        targets=tuple(Reach.of(arrival) for arrival in one.arrivals),
        axes={} if ranking is None else {axis: _cost(board.ranking(one.group, axis), one) for axis in AXES[1:]},
        against={row: _ratio(ranking.pair(one.row, row)) for row in others} if ranking is not None else {},
        marks=marks,
    )


def _by_seed(one: boards.Standing) -> dict[str, float]:
    """Returns the cost of every seed, where a miss counts with what the run had spent."""
    found = one.ranking.found if one.ranking is not None else None
    if found is None:
        return {}
    logs = found.costs.log[:, found.costs.rows.index(one.row)].mean(axis=1)
    return {str(seed): math.exp(value) for seed, value in zip(found.costs.seeds, logs, strict=True)}


def _cost(found: Ranking, one: boards.Standing) -> Cost:
    return Cost(
        cost=found.cost(one.row),
        is_bound=found.misses(one.row),
        regret=_ratio(found.shown(one.row)),
        is_best=one.row in found.best,
    )


def _ratio(given: Ratio | None) -> Ratio | None:
    """Returns a ratio; None without one, or if its value is not known."""
    return None if given is None or given.numbers is None else given


def groups(board: Board) -> tuple[Group, ...]:
    """Returns the systems of a board."""
    return tuple(
        Group(
            kind=group.kind,
            words=group.words,
            at_work=group.at_work,
            public_data=group.public_data,
            rows=tuple(board.members(group)),
            targets=board.ranking(group).targets,
            axes={axis: Ranked.of(board.ranking(group, axis)) for axis in AXES},
            leaders={rule: leader for (of, rule), leader in board.leaders.items() if of == group},
        )
        for group in board.groups
    )
