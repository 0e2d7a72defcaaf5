"""How the runs of all algorithms judge an advice.

An advice holds at a scenario if one of the algorithms it names is within 10 % of the best. A row
that misses a target in some seed has a lower bound for its cost: it is neither the best nor within
10 %, and its regret is not known, so it is infinite. Where advice cannot say, it names nothing, and
that is no hit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest, hypergeom, quantile_test

from fedbench.analysis.axes import AXES
from fedbench.analysis.costs import reached
from fedbench.analysis.map.factors import Floats
from fedbench.analysis.map.prediction import MOST_ROWS
from fedbench.results.record import Record
from fedbench.suites.advice.advise import Choice

HITS, OF, REGRET, CLOSE, AGAIN = 36, 40, 0.10, 1.1, 1.4


@dataclass(frozen=True)
class Spent:
    """What algorithms cost on a scenario.

    cost: the log cost, by name.
    whole: which of them hold every target in every seed.
    """

    cost: Mapping[str, float]
    whole: frozenset[str]

    @classmethod
    def of(cls, runs: Mapping[str, Sequence[Record]], axis: str) -> Spent:
        """Reads runs of the same seeds."""
        found = reached(runs).on(AXES[axis])
        missed = found.missed.any(axis=(0, 2))
        cost = dict(zip(found.rows, found.score.tolist(), strict=True))
        return cls(cost, frozenset(name for name, misses in zip(found.rows, missed, strict=True) if not misses))

    @property
    def best(self) -> float:
        """The smallest log cost; infinite if every row misses something."""
        return min((self.cost[name] for name in self.whole), default=math.inf)

    def over_best(self, name: str) -> float:
        """A cost over that of the best; infinite for a row that misses something, or did not
        run."""
        return math.exp(self.cost[name] - self.best) if name in self.whole else math.inf

    def near(self) -> list[str]:
        """The rows that more seeds may show to be the best."""
        return [name for name in self.cost if self.over_best(name) <= AGAIN]


@dataclass(frozen=True)
class Outcome:
    """What became of one advice.

    hit: whether it named a row within CLOSE of the best.
    regret: the cost of the first over that of the best; infinite if it is not known.
    why: why it is not known; empty if it is.
    """

    hit: bool
    regret: float
    why: str = ""


NOBODY, NO_ANSWER, FIRST_MISSES = "nobody holds every target", "no answer", "the first row misses a target"


def judged(named: Sequence[str], spent: Spent) -> Outcome:
    """Judges an advice by what all algorithms spent."""
    if not named:
        return Outcome(False, math.inf, NO_ANSWER)
    if not spent.whole:
        return Outcome(False, math.inf, NOBODY)
    regret = spent.over_best(named[0])
    hit = any(spent.over_best(name) <= CLOSE * (1 + 1e-12) for name in named)
    return Outcome(hit, regret, "" if math.isfinite(regret) else FIRST_MISSES)


def covered(choices: Sequence[Choice], axis: str, spent: Spent) -> list[bool]:
    """Of the choices whose cost over the best was measured, whether it lies in the interval that
    the advice gives."""
    known = [choice for choice in choices if axis in choice.ratios and math.isfinite(spent.over_best(choice.algorithm))]
    return [choice.ratios[axis].low <= spent.over_best(choice.algorithm) <= choice.ratios[axis].high for choice in known]


def summary(found: Sequence[Outcome]) -> str:
    """How often advice holds, with the binomial interval of 95 %, and the median regret of the
    first with an interval by order."""
    hits, regrets = sum(one.hit for one in found), np.array([one.regret for one in found])
    share = binomtest(hits, len(found)).proportion_ci()
    median = quantile_test(regrets, p=0.5).confidence_interval()
    whys = [one.why for one in found if one.why]
    unknown = ", ".join(f"{whys.count(why)} where {why}" for why in sorted(set(whys)))
    return (
        f"{hits} of {len(found)} named sets have a row within 10 % of the best ({100 * share.low:.0f} to {100 * share.high:.0f} %); "
        f"median cost of the first over the best {np.median(regrets):.3f} ({median.low:.3f} to {median.high:.3f})"
        + (f"; {unknown}" if unknown else "")
    )


def holds(found: Sequence[Outcome]) -> bool:
    """Whether advice is good enough on the forty scenarios."""
    return sum(one.hit for one in found) >= HITS and float(np.median([one.regret for one in found])) <= 1 + REGRET


NAMED, FIRST, EVERYWHERE, BY_CHANCE = "five named", "the first named", "the same five everywhere", "five by chance"


@dataclass(frozen=True)
class Lists:
    """Lists of algorithms on a scenario: what advice names, in its order, and the same five
    everywhere. `whole` has what rows with all seeds spent, `few` what all rows spent with few."""

    named: Sequence[str]
    everywhere: Sequence[str]
    whole: Spent
    few: Spent

    def over_best(self, name: str) -> float:
        """A cost over that of the best, by all seeds if the row has them."""
        return (self.whole if name in self.whole.cost else self.few).over_best(name)

    def cheapest(self, names: Sequence[str]) -> float:
        return min(map(self.over_best, names), default=math.inf)

    @property
    def words(self) -> str:
        """The best, and what is named, with its cost over that of the best."""
        best = min(self.whole.whole, key=lambda name: (self.whole.cost[name], name), default="nobody")
        named = ", ".join(f"{name} {self.whole.over_best(name):.3f}" for name in self.named)
        return f"best {best}; named {named or 'nobody'}"


def shares(several: Sequence[Lists], ratios: Floats) -> Mapping[str, Floats]:
    """Returns the share of scenarios on which a list has a row that costs at most so many times as
    much as the best, by kind of list."""
    best: dict[str, Callable[[Lists], float]] = {
        NAMED: lambda one: one.cheapest(one.named),
        FIRST: lambda one: one.cheapest(one.named[:1]),
        EVERYWHERE: lambda one: one.cheapest(one.everywhere),
    }
    found = {kind: _at_most([of(one) for one in several], ratios) for kind, of in best.items()}
    chance = [by_chance([one.over_best(name) for name in one.few.cost], ratios) for one in several]
    return found | {BY_CHANCE: np.mean(chance, axis=0)}


def alone(several: Sequence[Lists]) -> tuple[int, int]:
    """Returns on how many scenarios only the five named have a row within CLOSE of the best, and on
    how many only the same five everywhere."""
    ratio = np.array([CLOSE])
    named = _within([one.cheapest(one.named) for one in several], ratio)[:, 0]
    everywhere = _within([one.cheapest(one.everywhere) for one in several], ratio)[:, 0]
    return int((named & ~everywhere).sum()), int((everywhere & ~named).sum())


def _at_most(values: Sequence[float], ratios: Floats) -> Floats:
    return np.asarray(_within(values, ratios).mean(axis=0))


def _within(values: Sequence[float], ratios: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(np.array(values)[:, None] <= ratios * (1 + 1e-12))


def by_chance(costs: Sequence[float], ratios: Floats) -> Floats:
    """Returns how probable it is that of MOST_ROWS rows drawn by chance, given the cost of all over
    that of the best, one costs at most so much."""
    good = _within(costs, ratios).sum(axis=0)
    return np.asarray(1 - hypergeom.pmf(0, len(costs), good, min(MOST_ROWS, len(costs))))
