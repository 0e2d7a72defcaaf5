"""Checks the contract of metrics, for `fedbench test`: a value is a number that depends on logits,
labels and features alone, and has the direction that the class states."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from fedbench import own_metrics, own_models
from fedbench.engine.isolation.find import isolated_metric
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.proof import drawn
from fedbench.proof.findings import Finding, expect, findings_in
from fedbench.proof.own_runs import same_records
from fedbench.types import Array

EXAMPLES = 60


class World:
    """A metric, and drawn logits and examples."""

    def __init__(self, selector: str, task: str) -> None:
        self.code = own_models.named(selector, kind="metric")
        self.name, self.higher = own_metrics.declared(self.code)
        self.measure = own_metrics.Measured(self.code, self.name, higher_is_better=self.higher)
        _, self.classes = drawn.shape_of(selector, task)
        self.examples = drawn.examples(task, EXAMPLES, 0)

    def logits(self, k: int) -> Array:
        """Returns drawn logits; another k has others."""
        values = RandomStream(drawn.SEED, Purpose.evaluation, 2, k).normal(EXAMPLES * self.classes)
        return values.astype(np.float32).reshape(EXAMPLES, self.classes)

    def value(self, logits: Array, labels: Array | None = None) -> float:
        return self.measure(logits, self.examples.y if labels is None else labels, self.examples.x)


# ---- the checks; each raises Broken, or returns in words what it saw ----


def declared(world: World) -> str:
    return f"{world.name}, of which {'more' if world.higher else 'less'} is better"


def leaves_its_arguments(world: World) -> str:
    """In a run they are read-only; here it is named which one is changed."""
    given = {"logits": world.logits(0), "labels": world.examples.y.copy(), "features": world.examples.x.copy()}
    before = {name: array.tobytes() for name, array in given.items()}
    made = world.code.found()()
    made.value(*given.values())  # type: ignore[attr-defined]
    changed = [name for name, array in given.items() if array.tobytes() != before[name]]
    expect(not changed, f"value changes its {' and its '.join(changed)}; change a copy")
    return "logits, labels and features stay as they are"


def is_a_number(world: World) -> str:
    value = world.value(world.logits(0))
    expect(math.isfinite(value), f"expected a finite value for drawn logits of {EXAMPLES} examples of all classes, got {value:g}")
    one = world.value(world.logits(0), np.zeros(EXAMPLES, np.int64))
    return f"{value:g} for drawn logits, {one:g} if all examples are of class 0"


def repeats(world: World) -> str:
    first, _, again = (_bits(world.value(world.logits(k))) for k in (0, 1, 0))
    expect(
        first == again, "the same logits give another value after other ones; something is kept outside of the arguments of value"
    )
    return "the same value again, also after another one"


def has_its_direction(world: World) -> str:
    """Sure and right predictions are no worse than sure and wrong ones."""
    labels = world.examples.y
    right, wrong = (
        world.value(10 * np.eye(world.classes, dtype=np.float32)[(labels + shift) % world.classes]) for shift in (0, 1)
    )
    expect(
        right == wrong or (right > wrong) == world.higher or math.isnan(right + wrong),
        f"higher_is_better is {world.higher}, but right predictions have {right:g} and wrong ones {wrong:g}",
    )
    return f"{right:g} if all predictions are right, {wrong:g} if all are wrong"


def is_the_same_elsewhere(world: World) -> str:
    """Where `verify` has it computed: in a process that reads nothing but the file, and that hashes
    texts otherwise."""
    here = world.value(world.logits(0))
    with isolated_metric(world.code, world.name, higher_is_better=world.higher):
        measure = own_models.there(world.code)
        there = measure(world.logits(0), world.examples.y, world.examples.x)
    expect(_bits(here) == _bits(there), f"another process has {there:.17g}, this one {here:.17g}")
    return "a process of its own has the same bits"


def in_runs(world: World) -> str:
    return same_records([f"evaluation.metrics=[{{code: {world.code.selector!r}}}]"])


def _bits(value: float) -> bytes:
    return np.float64(value).tobytes()


CHECKS: dict[str, Callable[[World], str]] = {
    "declared": declared,
    "arguments": leaves_its_arguments,
    "number": is_a_number,
    "no state": repeats,
    "direction": has_its_direction,
    "another process": is_the_same_elsewhere,
    "runs": in_runs,
}


def check(selector: str, task: str) -> Iterator[Finding]:
    """Yields one finding for every check of a metric `file.py:Class`, tried on examples like those
    of a task."""
    return findings_in(CHECKS, lambda: World(selector, task))
