"""The part `tuning` of a suite: which options are tried, on which seeds, and for how long."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from fedbench.analysis.statistics import LEAST_SEEDS
from fedbench.errors import nearest
from fedbench.scenarios.base import Float, Integer, Part
from fedbench.suites.space import Space

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,99}$")]
FirstSeed = Annotated[Integer, Field(ge=0, le=2**31 - 1)]
Trials = Annotated[Integer, Field(ge=1, le=1024)]
Share = Annotated[Float, Field(gt=0, lt=1)]
PointNames = Annotated[tuple[str, ...], Field(min_length=1, max_length=1000)]


class Seeds(Part):
    """So many seeds as `count` says, from `first` on."""

    first: FirstSeed = 0
    count: Annotated[Integer, Field(ge=1, le=10_000)]

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.count)


class Rung(Part):
    """A step of a halving: so many trials are run with so many seeds each, for a share of the time
    budget. In the last rung the default and the published options come on top."""

    trials: Trials
    seeds: Annotated[Integer, Field(ge=1, le=1000)]
    budget_share: Annotated[Float, Field(gt=0, le=1)]


Rungs = Annotated[tuple[Rung, ...], Field(min_length=1, max_length=10)]


def _check_rungs(rungs: tuple[Rung, ...]) -> None:
    """Raises ValueError if the rungs make no halving."""
    for i, (rung, after) in enumerate(itertools.pairwise(rungs), 1):
        if after.trials > rung.trials:
            raise ValueError(f"rungs.{i}.trials must be at most {rung.trials}, that of the rung before, got {after.trials}")
        if after.budget_share < rung.budget_share:
            before = f"{rung.budget_share:.6g}, that of the rung before"
            raise ValueError(f"rungs.{i}.budget_share must be at least {before}, got {after.budget_share:.6g}")
    last = len(rungs) - 1
    if rungs[last].budget_share != 1:
        raise ValueError(f"rungs.{last}.budget_share: the last rung has the whole budget, 1, got {rungs[last].budget_share}")
    if rungs[last].seeds < LEAST_SEEDS:
        raise ValueError(f"rungs.{last}.seeds: the last rung needs at least {LEAST_SEEDS}, got {rungs[last].seeds}")


class Elsewhere(Part):
    """How options are tuned at a point that is no anchor: those named in `options` are drawn again,
    and the others are the anchor's. An algorithm that tunes none of them draws the first of its
    rates. The rungs are those of a halving of its own."""

    options: Annotated[tuple[str, ...], Field(min_length=1, max_length=4)]
    rungs: Rungs = (Rung(trials=8, seeds=3, budget_share=1),)

    def _check(self) -> None:
        _check_rungs(self.rungs)


class Draws(Part):
    """At which anchors options are tuned several times independently, `count` times with the first,
    and for how many `leaders`: the algorithms that cost least there with the options of the first
    draw."""

    points: PointNames
    count: Annotated[Integer, Field(ge=2, le=1000)]
    leaders: Annotated[Integer, Field(ge=1, le=1000)]


class Anchors(Part):
    """The points at which the whole search is made, by name. Another point begins `elsewhere` from
    the options of its nearest anchor, see `fedbench.suites.anchors`.

    first: factors whose distance counts before that of all factors.
    numbers: by factor whose levels are texts, the number that stands for each level.
    draws: tells how large the luck of the search is. It changes no row.
    """

    points: PointNames
    elsewhere: Elsewhere
    first: tuple[str, ...] = ()
    numbers: dict[str, Annotated[dict[str, Float], Field(min_length=2)]] = Field(default={})
    draws: Draws | None = None

    def _check(self) -> None:
        for i, name in enumerate(() if self.draws is None else self.draws.points):
            if name not in self.points:
                raise ValueError(f"draws.points.{i}: {name!r} is no anchor{nearest(name, self.points)}")
        for factor, numbers in self.numbers.items():
            if len(set(numbers.values())) == 1:
                raise ValueError(f"numbers.{factor}: expected numbers that differ, got {min(numbers.values()):g} for all levels")


def _hashed_space(space: str | Space) -> dict[str, object]:
    """Returns what is hashed of a space that a suite brings with it; one of the library is known by
    its name."""
    return {} if isinstance(space, str) else {"space": space.hashed()}


class Sobol(Part):
    """How options are tuned at once. Every algorithm has so many `trials` at every point, which are
    drawn from the search space `space` and are run with these seeds. They are measured on a
    `validation_share` of the training data, which is held out. Another draw has the seeds that
    follow."""

    method: Literal["sobol"] = "sobol"
    space: Name | Space
    trials: Trials
    seeds: Seeds
    validation_share: Share = 0.1

    def seeds_of(self, draw: int) -> range:
        first = self.seeds.first + draw * self.seeds.count
        return range(first, first + self.seeds.count)

    def hashed(self) -> dict[str, object]:
        """Returns what changes a result. `method` came later, so it is left out."""
        return self.model_dump(mode="json", exclude={"method"}) | _hashed_space(self.space)


class Halving(Part):
    """How options are tuned by successive halving, see `fedbench.suites.halving`. The first rung
    draws its trials from the search space `space`. Every later rung takes the best of the one
    before. Seeds are counted from `first_seed` on, each rung has its own, and another draw has
    those that follow. `published` are selectors with options that papers report, which are in the
    last rung. In scenarios with evaluation at times that grow, `evaluation_ratio` is the one by
    which they grow while options are tuned; None for the scenario's."""

    method: Literal["halving"]
    space: Name | Space
    rungs: Rungs = (
        Rung(trials=64, seeds=1, budget_share=1 / 3),
        Rung(trials=16, seeds=2, budget_share=2 / 3),
        Rung(trials=6, seeds=4, budget_share=1),
    )
    first_seed: FirstSeed
    published: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    validation_share: Share = 0.1
    evaluation_ratio: Annotated[Float, Field(ge=1.001, le=10)] | None = None
    anchors: Anchors | None = None

    def _check(self) -> None:
        _check_rungs(self.rungs)

    def rungs_at(self, point: str) -> tuple[Rung, ...]:
        """Returns the rungs of the search at the point of this name."""
        return self.rungs if self.anchors is None or point in self.anchors.points else self.anchors.elsewhere.rungs

    @property
    def trials(self) -> int:
        return self.rungs[0].trials

    def seeds_of(self, draw: int) -> range:
        count = sum(rung.seeds for rung in (*self.rungs, *(self.anchors.elsewhere.rungs if self.anchors else ())))
        return range(self.first_seed + draw * count, self.first_seed + (draw + 1) * count)

    def hashed(self) -> dict[str, object]:
        """Returns what changes the options of a row. `anchors` and `evaluation_ratio` came later,
        so they are left out if there are none."""
        draws: dict[str, Any] = {"anchors": {"draws"} if self.anchors else True}
        later = draws | ({} if self.evaluation_ratio else {"evaluation_ratio": True})
        return self.model_dump(mode="json", exclude=later) | _hashed_space(self.space)


def _method(value: object) -> str:
    return str(value.get("method", "sobol") if isinstance(value, dict) else getattr(value, "method", "sobol"))


Tuning = Annotated[Annotated[Sobol, Tag("sobol")] | Annotated[Halving, Tag("halving")], Discriminator(_method)]
