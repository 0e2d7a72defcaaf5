"""What a suite with a design says of costs over its factors, as a page shows it: by its model on
the axes whose held-out points it predicts, and as measured at the points on the others."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fedbench.documents.parts import Amount, Count, Few, Named, Number, Part, Ratio, Several, Spent, Text, Word

Triple = Annotated[tuple[Amount, Amount, Amount], Field(strict=False)]
"""A value with the ends of its interval."""


class Column(Part):
    """What is asked for: costs on an axis with so many clients at work, in words such as `all
    clients at work`, which are empty if the design does not change their number."""

    axis: Spent
    at_work: Word


class Choice(Part):
    """Which algorithms to try: the cost of the first, and by label the cost over that of the
    best, from the smallest mean on."""

    cost: Triple
    tries: Annotated[Named[Ratio], Field(min_length=1)]


class Heterogeneity(Part):
    """A kind of heterogeneity: its name such as `spread 1.2`, what that is in words, and a choice
    for every column, None where there is none. The first one is the middle."""

    name: Word
    words: Text
    choices: Few[Choice | None]


class Always(Part):
    """What it costs to always use one row, in seconds over the smallest cost: the geometric mean
    over points, None if only measured, and the largest, at a point that is named.

    others: the mean on the other axes that are predicted.
    points: at how many points it was compared; if only measured, at how many it holds a target.
    best: at how many of them it is in the set of the best.
    """

    row: Text
    mean: Ratio | None
    worst: Ratio
    worst_at: Word
    points: Count
    best: Count
    others: dict[Spent, Ratio] = Field(default={})


class Everywhere(Part):
    """Always the same algorithm: at which points, how many these are, and the rows from the best
    on. `left_out` are those that cannot run at all of them."""

    where: Text
    points: Count
    rows: Several[Always]
    left_out: Several[Text] = ()


class Regrets(Part):
    """The median of the regrets of a row in seconds over several points, and the largest, None if
    it holds no target at one of them. They have no interval."""

    row: Text
    median: Ratio
    largest: Ratio | None


class Level(Part):
    """The points of the design at one level of a factor, such as `skew iid` with what that is in
    words: how many they are, and the regrets of the rows that are compared at all of them, from the
    smallest median on."""

    name: Word
    words: Text
    points: Count
    rows: Several[Regrets]


class Price(Part):
    """The cost in seconds of the cheapest row in rounds over that of the cheapest one that does not
    wait: of the model, or the smallest and the largest of so many points."""

    ratios: Annotated[Few[Ratio], Field(min_length=1)]
    points: Count = 0


class Spread(Part):
    """The prices of waiting at a level of the spread of speeds, by clients at work; None where
    nothing is known."""

    level: Word
    prices: Few[Price | None]


class Waiting(Part):
    """What waiting costs, over the spread of speeds and clients at work."""

    unit: Text
    at_work: Few[Word]
    rows: Few[Spread]


class Miss(Part):
    """A point at which the first of the map costs more than 10 % more than the best of another
    suite."""

    point: Word
    first: Text
    best: Text
    ratio: Ratio


class Carried(Part):
    """How far an axis holds in another suite: Kendall's tau of the orders, what it would be by the
    noise of seeds alone, and the cost of the first of the map over the smallest one there, as means
    over points."""

    axis: Spent
    points: Count
    agreement: Annotated[tuple[Number, Number, Number], Field(strict=False)]
    alike: Number
    regret: Ratio
    missed: Several[Miss]


class Elsewhere(Part):
    """What holds in another suite over points of the design."""

    suite: Word
    about: Text
    axes: Few[Carried]


class Judged(Part):
    """How well an axis predicts points held out: the error of the map, of the nearest point and of
    main effects; the median number of algorithms that it names; and at how many of the points one
    of them is within 10 % of the best. `missed` and `undecided` are the other points, with what
    they are, and with the reason."""

    axis: Spent
    predicts: bool
    error: Number
    nearest: Number
    main: Number
    named: Number
    hits: Count
    points: Count
    missed: Named[Text]
    undecided: Named[Text]


class Sure(Part):
    """How sure it is. Standard deviations are of log seconds.

    seeds: the fewest and the most of a row.
    censored: the share of runs that miss a target.
    seed, noise: between seeds, and within one.
    fit: how an algorithm departs at a point from what the factors say, as a factor.
    luck: of winners of independent tunings; None without them.
    resolution: the ratio that a board of the design shows with a probability of 80 %, the median.
    boards, changed: how many boards of several rows the design has, and at how many of them the
    rule of holding a target decides who is the cheapest.
    """

    seeds: Annotated[tuple[Count, Count], Field(strict=False)]
    censored: Amount
    seed: Amount
    noise: Amount
    fit: Triple
    luck: Amount | None
    resolution: Amount | None
    boards: Count
    changed: Count
    judged: Few[Judged]


class Map(Part):
    """The map of a suite.

    Attributes:
        predicted: the axes that are shown by the model; the others are as measured.
        points: of the design.
        algorithms: those that are compared.
        public_data: those that have public data, and are compared with none of the others.
        left_out: by algorithm, why it is not in the model.
        middle: from which every kind of heterogeneity departs by one level.
        columns, kinds: the decision map; none without a predicted axis.
        notes: on columns.
        everywhere: what to take if nothing is known.
        levels: what rows cost by level, as measured; none if seconds are predicted.
        waiting: None if the design has no spread of speeds or no clients at work.
        elsewhere: what holds of it with other models and tasks.
    """

    predicted: Annotated[tuple[Spent, ...], Field(max_length=3, strict=False)]
    points: Count
    algorithms: Several[Text]
    public_data: Several[Text]
    left_out: Named[Text]
    middle: Text
    columns: Few[Column]
    kinds: Several[Heterogeneity]
    notes: Few[Text]
    everywhere: Few[Everywhere]
    levels: Several[Level] = ()
    waiting: Waiting | None
    elsewhere: Few[Elsewhere]
    sure: Sure

    @property
    def is_predicted(self) -> bool:
        """Whether seconds are shown by the model."""
        return "seconds" in self.predicted
