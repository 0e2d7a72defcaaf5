"""Blocks of jobs that go side by side on a card, whoever's jobs they are, and their batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch

from fedbench.engine.trainers.base import Assignment, Stage
from fedbench.engine.trainers.torch.arrays import is_tensor_array
from fedbench.engine.trainers.torch.data import Features
from fedbench.engine.trainers.torch.lanes import Lanes
from fedbench.scenarios.local_parts import LocalPart
from fedbench.types import Array, Job, LocalRule, Work

VECTORS = ("start", "correction", "anchor")


class Run(Protocol):
    """What a card asks of the trainer of a run. Runs with one `x` have one `y`."""

    seed: int
    local: LocalPart
    x: Features
    y: torch.Tensor

    def draws(self, job: Job) -> tuple[torch.Tensor, list[int], torch.Tensor | None]:
        """Returns rows, places where batches begin and end, and changes of images of a job."""

    def features(self, rows: torch.Tensor, changes: torch.Tensor | None) -> torch.Tensor:
        """Returns examples, changed."""

    def work(self, assignment: Assignment, end: Array, end_buffers: Array, by_products: dict[str, Array]) -> Work:
        """Returns the Work of a job that has come to `end`."""


@dataclass(eq=False)
class Asked:
    """A wave that a run has trained, and what becomes of it: the work of its jobs by their place in
    the wave, or the error of one."""

    run: Run
    wave: Sequence[Assignment]
    works: dict[int, Work] = field(default_factory=dict)
    error: Exception | None = None

    def answer(self) -> list[Work]:
        """Returns the works in the order of the wave, or raises the error."""
        if self.error is not None:
            raise self.error
        return [self.works[index] for index in range(len(self.wave))]


class Lane(NamedTuple):
    """A job of a wave, `at` its place there."""

    asked: Asked
    at: int

    @property
    def run(self) -> Run:
        return self.asked.run

    @property
    def assignment(self) -> Assignment:
        return self.asked.wave[self.at]

    @property
    def job(self) -> Job:
        return self.assignment.job


def blocks_of(lanes: Sequence[Lane], count: int) -> Iterator[list[Lane]]:
    """Yields jobs that go side by side: with rules of one form, about as many steps, and those of a
    training set beside each other."""
    forms: defaultdict[Hashable, list[Lane]] = defaultdict(list)
    for lane in lanes:
        rule = lane.assignment.rule
        forms[form_of(rule), is_tensor_array(rule.start)].append(lane)
    for alike in forms.values():
        alike.sort(key=lambda lane: -lane.job.steps)
        for begin in range(0, len(alike), count):
            yield sorted(alike[begin : begin + count], key=lambda lane: id(lane.run.x))


def form_of(rule: LocalRule) -> Hashable:
    """Returns the scalars of a rule without its rate, and which vectors it has."""
    return tuple(value is None if name in VECTORS else value for name, value in vars(rule).items() if name != "lr")


@dataclass(frozen=True)
class Schedule:
    """The batches of a block, one job a lane.

    Attributes:
        begin: how many examples a lane saw before a step (steps, lanes).
        sizes: the sizes of batches (steps, lanes), 0 where a lane has no work.
        rates: minus the rates of the steps (steps, lanes), 0 where a lane has no work.
        rows: rows of the training set (steps, lanes, examples).
        changes: how images are changed (steps, lanes, examples).
        parts: lanes of one training set, with a run that has it; idle lanes are in the last.
    """

    block: Sequence[Lane]
    begin: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    rates: npt.NDArray[np.float64]
    rows: torch.Tensor
    changes: torch.Tensor | None
    parts: Sequence[tuple[Run, slice]]

    @classmethod
    def of(cls, block: Sequence[Lane], lanes: Lanes, *, has_single_values: bool) -> Self:
        """Returns that of a block. An idle lane sees row 0 once, and stays where it is. With
        `has_single_values` a batch of one example cannot be normalised."""
        count, examples, device = lanes.count, lanes.examples, lanes.device
        steps, place = max(lane.job.steps for lane in block), torch.arange(examples)
        rows, changes = (torch.zeros(steps, count, examples, dtype=torch.int64) for _ in range(2))
        begin, sizes = (np.zeros((steps, count), np.int64) for _ in range(2))
        rates, are_changed = np.zeros((steps, count)), False
        for number, lane in enumerate(block):
            job = lane.job
            with Stage(job, "local training"):
                drawn, offsets, how = lane.run.draws(job)
                begin[: job.steps, number], sizes[: job.steps, number] = offsets[:-1], np.diff(offsets)
                if has_single_values and (np.diff(offsets) == 1).any():
                    raise ValueError(
                        "batch normalisation: expected more than one value per channel, got a batch of 1 example of 1 x 1"
                    )
                of_steps = [torch.from_numpy(of[: job.steps, number, None]) for of in (begin, sizes)]
                chosen = of_steps[0] + torch.where(place < of_steps[1], place, 0)
                rows[: job.steps, number] = drawn[chosen]
                if how is not None:
                    changes[: job.steps, number], are_changed = how[chosen], True
                lr, local = lane.assignment.rule.lr, lane.run.local
                rates[: job.steps, number] = [-lr * local.factor_of_step(step) for step in range(job.steps)]
        return cls(block, begin, sizes, rates, rows.to(device), changes.to(device) if are_changed else None, [*parts_of(block)])

    @property
    def steps(self) -> int:
        return len(self.rows)

    def take(self, number: int, features: torch.Tensor) -> None:
        """Copies the examples of a step."""
        for run, lanes in self.parts:
            rows, into = self.rows[number, lanes].flatten(), features[lanes].flatten(0, 1)
            if self.changes is None:
                run.x.take(rows, into)
            else:
                into.copy_(run.features(rows, self.changes[number, lanes].flatten()))


def parts_of(block: Sequence[Lane]) -> Iterator[tuple[Run, slice]]:
    begins = [i for i in range(len(block)) if i == 0 or block[i].run.x is not block[i - 1].run.x]
    for begin, end in zip(begins, [*begins[1:], None], strict=True):
        yield block[begin].run, slice(begin, end)
