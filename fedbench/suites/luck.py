"""How much of a tuned row is luck: what half of the trials would have found, how far the second
best trial is behind, and whether the chosen options lie at an edge of what was tried."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedbench.suites.space import Interval
from fedbench.suites.tuning import Outcome, Score

EDGE = 0.05
"""An option in such an outer share of its interval, at either end, lies at an edge."""
ALONE = 1.25
"""A trial stands alone if the second best takes more than so many times its time."""


@dataclass(frozen=True)
class Luck:
    """What is known of the choice for one row.

    at_half: the expected time of the best trial if half of the drawn ones had been made, and the
    default options, over the time of the best of all. Times are restricted means on the validation
    part, as in the rule of choosing. It is no interval.
    second: the time of the second best trial over that of the best.
    edges: options of the chosen trial that lie at an edge, with their places in [0, 1].
    """

    at_half: float
    second: float
    edges: Mapping[str, float]

    @property
    def stands_alone(self) -> bool:
        """Returns whether the second best trial takes more than ALONE times as long."""
        return self.second > ALONE

    @property
    def marks(self) -> list[str]:
        """Returns what a reader should know of the choice, each with its number."""
        found = [f"second best trial {self.second:.2f} times"] if self.stands_alone else []
        for option, place in sorted(self.edges.items()):
            found.append(f"{option} at {100 * min(place, 1 - place):.0f} % from the {'lower' if place < 0.5 else 'upper'} end")
        return found


def luck(tried: Mapping[int, tuple[Mapping[str, float], Sequence[Outcome]]], intervals: Mapping[str, Interval]) -> Luck:
    """Returns the luck of a tuned row from all of its trials.

    Args:
        tried: by number of the trial, 0 for the default options, its options and outcomes.
        intervals: the search space of the algorithm.
    """
    scores = {number: Score.of(runs) for number, (_, runs) in tried.items()}
    order = sorted(scores, key=lambda number: (*scores[number].order, number))
    times = [max(scores[number].restricted_mean_seconds, 1e-9) for number in order]
    chosen = tried[order[0]][0]
    places = {name: place_of(intervals[name], value) for name, value in chosen.items() if name in intervals}
    return Luck(
        at_half=expected_best(times, order.index(0)) / times[0],
        second=times[1] / times[0] if len(times) > 1 else math.inf,
        edges={name: place for name, place in places.items() if min(place, 1 - place) < EDGE},
    )


def expected_best(values: Sequence[float], default: int) -> float:
    """Returns the mean of the first of `values`, which are in order of preference, if half of them
    are drawn without replacement and the one at the place `default` is always among them.

    Of n others, in order from 0, the k-th is the first of m that are drawn with the probability
    C(n - 1 - k, m - 1) / C(n, m).
    """
    n = len(values) - 1
    m = n // 2
    weights = [math.comb(n - 1 - k, m - 1) / math.comb(n, m) for k in range(default)] if m else []
    before = math.fsum(weight * value for weight, value in zip(weights, values, strict=False))
    return before + (1 - math.fsum(weights)) * values[default]


def place_of(interval: Interval, value: float) -> float:
    """Returns where a value lies in its interval, from 0 to 1, on the interval's scale."""
    if interval.scale == "log":
        return math.log(value / interval.low) / math.log(interval.high / interval.low)
    return (value - interval.low) / (interval.high - interval.low)
