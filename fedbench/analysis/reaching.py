"""Says when a run reaches a target, and for good.

A curve of test accuracies is noisy, so a first touch says little. The rule, version 2 of the rules:
a target is reached at t, the first evaluation from which on all evaluations in [t, 1.2 t] are at or
above it. If fewer than three different models were evaluated in that window, it goes on until the
third. A run that ends inside the window is censored at t: it may have reached the target then, and
not before. Nothing is interpolated.

The other rules show how much the answer depends on this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np

from fedbench.analysis import metrics
from fedbench.errors import UsageError, nearest
from fedbench.results import holding
from fedbench.results.holding import Flags, Integers
from fedbench.results.record import Record

EVALUATIONS = 3

Rule = Literal["window", "touch", "evaluations", "models"]
"""How long a target is held: over the window; not at all; for three evaluations in a row; for three
different models."""
RULES: tuple[Rule, ...] = get_args(Rule)
WORDS: Mapping[Rule, str] = {
    "window": "held for 20 % of the time",
    "touch": "first touch",
    "evaluations": "three evaluations",
    "models": "three models",
}


class Goal(Protocol):
    """A metric and the value that it is to reach, as the targets of scenarios have them."""

    @property
    def metric(self) -> str: ...

    @property
    def value(self) -> float: ...


@dataclass(frozen=True)
class Reach:
    """When a run reaches a target: the index of the evaluation. With `is_held` False the run ended
    before the rule was fulfilled, and is censored there."""

    index: int
    is_held: bool


def reach(run: Record, targets: Sequence[Goal], rule: Rule = "window") -> list[Reach | None]:
    """Returns for every target when a run reaches it, None if it never does. A run that did not
    finish reaches nothing, since it has no model to show.

    Args:
        run: its record.
        targets: what is sought. A loss reaches its target from above.
        rule: see `Rule`.

    Raises:
        UsageError: for an unknown metric or rule.
    """
    if rule not in RULES:
        raise UsageError(f"unknown rule {rule!r}{nearest(rule, RULES)}")
    for target in targets:
        metrics.check(target.metric, run)
    if run.state != "finished":
        return [None] * len(targets)
    at_ns = np.rint(np.asarray(run.curves["seconds"], np.float64) * 1e9).astype(np.int64)
    end = ends(at_ns, np.asarray(run.curves["version"]), rule)
    return [first_held(_above(run, target), end) for target in targets]


def _above(run: Record, target: Goal) -> Flags:
    sign = run.spec.scenario.sign(target.metric)
    return np.asarray(sign * run.curves[target.metric] >= sign * float(target.value))


def first_held(above: Flags, end: Integers) -> Reach | None:
    """Returns the first evaluation i from which on `above` holds up to and including `end[i]`, or
    up to the last evaluation if `end[i]` lies behind it; None if there is none."""
    n = len(above)
    places = np.where(above, n, np.arange(n))
    below = np.minimum.accumulate(places[::-1])[::-1]  # the next evaluation, from i on, that is not above
    held = np.flatnonzero(below > np.minimum(end, n - 1))
    return Reach(int(held[0]), bool(end[held[0]] < n)) if len(held) else None


def ends(at_ns: Integers, version: Integers, rule: Rule) -> Integers:
    """Returns for every evaluation the index of the last one that has to be above the target, if
    the target is reached there; the number of evaluations if the run ended before that."""
    n = len(at_ns)
    places = np.arange(n)
    if rule == "touch":
        return places
    if rule == "evaluations":
        return np.minimum(places + EVALUATIONS - 1, n)
    return holding.third(version) if rule == "models" else holding.ends(at_ns, version)
