"""The scenarios by which advice is judged. They follow from two seeds, committed before any map.

Of the forty of SEED, 25 lie on the map, between its levels; of the others 5 have 30 or 1,000
clients, 7 another model, and 3 another task. All have a cap on clients at work. The ten of
EVERYBODY lie on the map and have everybody at work, as a scenario does whose user sets no cap, so
that the algorithms that need everybody are judged as well.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fedbench.scenarios.load import load
from fedbench.scenarios.schema import Scenario
from fedbench.suites.design import schema as designs

SEED, EVERYBODY, BASE = 4605, 4606, "map-fashion"
ON, AT_ONCE = 25, 10
CNN, SOFTMAX = ("task.model=cnn_21840",), ("task.model=softmax",)
DIGITS = ("task={name: digits, model: mlp}", "clients=40", "partition.min_examples=2", "public.size=142")
OFF = [*[("clients=30",)] * 3, *[("clients=1000",)] * 2, *[CNN] * 4, *[SOFTMAX] * 3, *[DIGITS] * 3]
SHARES = (0.8, 0.9, 0.95)
"""Targets for another task or model: shares of the accuracy of central training."""
LONGER = 3.0
"""Times the budget of the map is that of another task or model, of which nobody knows how long it
takes."""


@dataclass(frozen=True)
class Asked:
    """A scenario, as keys of the map's scenario that are set. `other` are those that put it off the
    map; none if it lies on it."""

    other: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def is_other_task(self) -> bool:
        return any(key.startswith("task") for key in self.other)

    @property
    def words(self) -> str:
        """What is set, without the budget and the times of evaluations, which follow from it."""
        return ", ".join(key for key in (*self.other, *self.keys) if not key.startswith(("budget", "evaluation")))

    def scenario(self, accuracy: Mapping[tuple[str, ...], float]) -> Scenario:
        """The scenario; `accuracy` is that of central training, by the keys of a task."""
        keys = [*self.other, *self.keys]
        if self.other in accuracy:
            keys.append(f"targets=[{', '.join(f'{{value: {share * accuracy[self.other]:.3f}}}' for share in SHARES)}]")
        return load(BASE, keys)


design = functools.cache(lambda: designs.load("map"))


def drawn(seed: int = SEED) -> list[Asked]:
    """The forty with a cap, those on the map first."""
    generator = np.random.Generator(np.random.Philox(seed))
    return [Asked(other, tuple(_keys(generator, other))) for other in [*[()] * ON, *OFF]]


def at_once(seed: int = EVERYBODY) -> list[Asked]:
    """The ten with everybody at work."""
    generator = np.random.Generator(np.random.Philox(seed))
    return [Asked((), tuple(_keys(generator, (), everybody=True))) for _ in range(AT_ONCE)]


def _keys(draw: np.random.Generator, other: tuple[str, ...], *, everybody: bool = False) -> Iterator[str]:
    """A place within the ranges of all factors, seldom at a level. Speed is tied to something in
    every third scenario in which it can be."""
    most = next((int(key.split("=")[1]) for key in other if key.startswith("clients=")), 100)
    spread, available = max(0.0, draw.uniform(-0.2, 1.2)), min(1.0, draw.uniform(0.5, 1.25))
    upload, steps, work = (
        math.exp(draw.uniform(math.log(low), math.log(high))) for low, high in ((0.02, 3), (2, 30), (5, min(most, 100)))
    )
    work = most if everybody else work
    skew, tie = str(draw.choice(["iid", "dirichlet", "dirichlet", "two_class"])), draw.random()
    alpha = math.exp(draw.uniform(math.log(0.1), 0))
    yield f"partition.kind={skew}"
    if skew == "dirichlet":
        yield f"partition.alpha={alpha:.3g}"
    by = "by_label" if tie < 1 / 6 and skew != "iid" else "by_size" if tie < 1 / 3 and skew == "dirichlet" else ""
    tied = f", {by}: {{strength: 0.9}}" if by else ""
    yield f"compute.slowdown={{{f'kind: lognormal, log_sigma: {spread:.3g}{tied}' if spread >= 0.005 else ''}}}"
    if available < 1:
        on = 15 * available
        yield f"availability={{kind: alternating, mean_on_seconds: {on:.3g}, mean_off_seconds: {15 - on:.3g}, when_offline: paused}}"
    yield from (f"network.upload_over_compute={upload:.3g}", f"local.steps={round(steps)}", f"at_work={round(work)}")
    place = {"spread": spread, "available": available, "upload": upload, "steps": steps, "at_work": work}
    longer = _by_skew(skew, alpha) * math.prod(_longer(name, value) for name, value in place.items())
    base = load(BASE)
    yield f"evaluation.first_seconds={(base.evaluation.first_seconds or 0) * longer:.6g}"
    elsewhere = LONGER if any(key.startswith("task") for key in other) else 1.0
    yield f"budget.seconds={elsewhere * (base.budget.seconds or 0) * longer:.6g}"


def _longer(name: str, value: float) -> float:
    """By what the design of the map multiplies the budget at a level, between levels on the log
    scale."""
    factor = design().factors[name]
    scaled = math.log if factor.scale == "log" else float
    times = [math.log(level.times.get("budget.seconds", 1.0)) for level in factor.levels]
    return math.exp(float(np.interp(scaled(value), [scaled(number) for number in factor.numbers or ()], times)))


def _by_skew(kind: str, alpha: float) -> float:
    """The same of label skew: between Dirichlet(0.1) and Dirichlet(0.3) on the log scale, and as at
    the latter above it."""
    times = {level.level: level.times.get("budget.seconds", 1.0) for level in design().factors["skew"].levels}
    if kind != "dirichlet":
        return times["iid" if kind == "iid" else "two_classes"]
    ends = [math.log(times[f"dirichlet_{end}"]) for end in (0.1, 0.3)]
    return math.exp(float(np.interp(math.log(alpha), np.log([0.1, 0.3]), ends)))
