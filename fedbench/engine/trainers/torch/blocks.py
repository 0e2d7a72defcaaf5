"""Blocks of jobs that a card trains together, whoever's jobs they are: which lane has which job at
which step, and their batches."""

from __future__ import annotations

import heapq
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

STEPS_OF_A_LANE = 1024
"""How many steps of a block a lane makes at most, on average, if it has more than one job: which
examples they see is drawn before the block begins."""


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


class Entry(NamedTuple):
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


def blocks_of(entries: Sequence[Entry], lanes: int) -> Iterator[list[Entry]]:
    """Yields jobs that go together: with rules of one form, those with the most steps first."""
    forms: defaultdict[Hashable, list[Entry]] = defaultdict(list)
    for entry in entries:
        rule = entry.assignment.rule
        forms[form_of(rule), is_tensor_array(rule.start)].append(entry)
    for alike in forms.values():
        block: list[Entry] = []
        steps = 0
        for entry in sorted(alike, key=lambda entry: -entry.job.steps):
            if len(block) >= lanes and steps + entry.job.steps > STEPS_OF_A_LANE * lanes:
                yield block
                block, steps = [], 0
            block.append(entry)
            steps += entry.job.steps
        yield block


def form_of(rule: LocalRule) -> Hashable:
    """Returns the scalars of a rule without its rate, and which vectors it has."""
    return tuple(value is None if name in VECTORS else value for name, value in vars(rule).items() if name != "lr")


class Turn(NamedTuple):
    """A job in a lane, from the step of number `begin` on. `place` is its number among the lane's
    jobs."""

    entry: Entry
    lane: int
    begin: int
    place: int

    @property
    def end(self) -> int:
        return self.begin + self.entry.job.steps


def turns_of(block: Sequence[Entry], lanes: int) -> list[Turn]:
    """Returns the turns of a block's jobs, in order of their beginnings: each goes to the lane that
    is free first. As the longest come first, all lanes end at about the same step."""
    turns: list[Turn] = []
    free = [(0, 0, lane) for lane in range(lanes)]
    for entry in block:
        begin, place, lane = free[0]
        turns.append(Turn(entry, lane, begin, place))
        heapq.heapreplace(free, (turns[-1].end, place + 1, lane))
    return turns


@dataclass(frozen=True)
class Schedule:
    """Which jobs a block has in its lanes, and their batches. A lane without work is idle.

    Attributes:
        turns: the jobs in order of their beginnings; the first ones are in lanes 0, 1 and so on.
        streams: the seed, the client and the k of the job of a lane (3, steps, lanes).
        age: the number of a step among those of its job, from 1 on, and 0 where a lane is idle
            (steps, lanes).
        begin: how many examples of a job a lane saw before a step (steps, lanes).
        sizes: the sizes of batches (steps, lanes), 0 where a lane is idle.
        rates: minus the rates of the steps (steps, lanes), 0 where a lane is idle.
        rows: rows of the training set (steps, lanes, examples).
        changes: how images are changed (steps, lanes, examples).
        data: runs, one of each training set.
        of_data: which of them has the training set of a lane (steps, lanes).
        order: the lanes in the order of their training sets, and where in it a lane is (2, steps,
            lanes), None if there is one training set.
    """

    turns: Sequence[Turn]
    streams: npt.NDArray[np.uint64]
    age: npt.NDArray[np.int64]
    begin: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    rates: npt.NDArray[np.float64]
    rows: torch.Tensor
    changes: torch.Tensor | None
    data: Sequence[Run]
    of_data: npt.NDArray[np.int64]
    order: torch.Tensor | None

    @classmethod
    def of(cls, block: Sequence[Entry], lanes: Lanes, *, has_single_values: bool) -> Self:
        """Returns that of a block. An idle lane sees row 0 once, and stays where it is. With
        `has_single_values` a batch of one example cannot be normalised."""
        turns, device = turns_of(block, lanes.count), lanes.device
        shape, place = (max(turn.end for turn in turns), lanes.count), torch.arange(lanes.examples)
        rows, changes = torch.zeros(*shape, lanes.examples, dtype=torch.int64), None
        age, begin, sizes, of_data = (np.zeros(shape, np.int64) for _ in range(4))
        streams, rates = np.zeros((3, *shape), np.uint64), np.zeros(shape)
        data: dict[int, Run] = {}
        for turn in turns:
            run, job, at = turn.entry.run, turn.entry.job, np.s_[turn.begin : turn.end, turn.lane]
            data.setdefault(id(run.x), run)
            with Stage(job, "local training"):
                drawn, offsets, how = run.draws(job)
                begin[at], sizes[at], age[at] = offsets[:-1], np.diff(offsets), np.arange(job.steps) + 1
                if has_single_values and (np.diff(offsets) == 1).any():
                    raise ValueError(
                        "batch normalisation: expected more than one value per channel, got a batch of 1 example of 1 x 1"
                    )
                of_steps = [torch.from_numpy(of[at][:, None]) for of in (begin, sizes)]
                chosen = of_steps[0] + torch.where(place < of_steps[1], place, 0)
                rows[at] = drawn[chosen]
                if how is not None:
                    changes = torch.zeros_like(rows) if changes is None else changes
                    changes[at] = how[chosen]
                rates[at] = [-turn.entry.assignment.rule.lr * run.local.factor_of_step(step) for step in range(job.steps)]
                streams[:, turn.begin : turn.end, turn.lane] = np.array([[run.seed], [job.client], [job.k]], np.uint64)
                of_data[at] = [*data].index(id(run.x))
        moved, order = None if changes is None else changes.to(device), None
        if len(data) > 1:
            by_data = np.argsort(of_data, axis=1, kind="stable")
            order = torch.from_numpy(np.stack([by_data, np.argsort(by_data, axis=1)])).to(device)
        return cls(turns, streams, age, begin, sizes, rates, rows.to(device), moved, [*data.values()], of_data, order)

    @property
    def steps(self) -> int:
        return len(self.rows)

    def labels(self, steps: slice) -> torch.Tensor:
        """Returns the labels of the examples of some steps (steps, lanes, examples)."""
        rows = self.rows[steps]
        if self.order is None:
            return self.data[0].y[rows]
        labels = self.data[0].y.new_empty(rows.shape)
        for number, run in enumerate(self.data):
            where = tuple(torch.from_numpy(places).to(rows.device) for places in np.nonzero(self.of_data[steps] == number))
            labels[where] = run.y[rows[where]]
        return labels

    def take(self, number: int, features: torch.Tensor) -> None:
        """Copies the examples of a step."""
        rows, changes = self.rows[number], None if self.changes is None else self.changes[number]
        if self.order is None:
            if changes is None:
                self.data[0].x.take(rows.flatten(), features.flatten(0, 1))
            else:
                features.copy_(self.data[0].features(rows.flatten(), changes.flatten()).view_as(features))
            return
        lanes, places = self.order[:, number]
        ends = np.cumsum([0, *np.bincount(self.of_data[number], minlength=len(self.data))]).tolist()
        taken = []
        for run, begin, end in zip(self.data, ends[:-1], ends[1:], strict=True):
            of_run = lanes[begin:end]
            taken.append(run.features(rows[of_run].flatten(), None if changes is None else changes[of_run].flatten()))
        torch.index_select(torch.cat(taken).view_as(features), 0, places, out=features)
