"""The torch trainer of a device: trains the jobs of a wave side by side, as stacked tensors, step
by step."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
import numpy.typing as npt
import torch

from fedbench.engine.trainers.base import Assignment, Columns, Places, Stage, Workload
from fedbench.engine.trainers.counted import LANES
from fedbench.engine.trainers.torch.base import TorchTask
from fedbench.engine.trainers.torch.data import answer, load
from fedbench.engine.trainers.torch.device import deterministic
from fedbench.engine.trainers.torch.lanes import Lanes
from fedbench.engine.trainers.torch.rule import Direction
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.tasks.layers import BatchNorm2d, Dropout, in_order
from fedbench.tasks.torch_model import dropout_mask, mask_shape
from fedbench.types import Array, Job, LocalRule, Work

VECTORS = ("start", "correction", "anchor")


class StackedTrainer(TorchTask):
    """Trains a Task on one torch device, `lanes` jobs at a time.

    A job sees the data order, dropout masks and changed images of TorchTrainer, and gives its
    result up to rounding. The result depends on the Assignment and the seed only:

    - There are always `lanes` lanes, idle ones among them, and batches are always filled up to one
      size with examples that do not count, so no shape depends on the wave.
    - Nothing is drawn on the device.
    - The settings of `deterministic` hold while it computes.

    Another number of lanes, device or library version may round otherwise.

    Executed on torch's CPU device, and on one H200 with torch 2.11.0+cu130 (2026-11-26). `pytest -m
    gpu tests/engine` is the check of a GPU. LANES was not tuned.
    """

    def __init__(
        self, workload: Workload, *, dtype: npt.DTypeLike = np.float32, device: str = "cuda", lanes: int = LANES
    ) -> None:
        super().__init__(workload, dtype=dtype, device=device)
        model = workload.task.layered
        self.lanes = Lanes(model, lanes, self.real, self.at, self.loss)
        self.examples = min(workload.batch_size, int(self.shards.sizes.max()))
        layers = list(in_order(model.layers, model.input_shape))
        self.dropouts = [(layer, shape) for layer, shape in layers if isinstance(layer, Dropout)]
        self.has_single_values = any(isinstance(layer, BatchNorm2d) and math.prod(shape[1:]) == 1 for layer, shape in layers)

    def settings(self) -> AbstractContextManager[None]:
        return deterministic()

    # ---- training ----

    def train(self, wave: Sequence[Assignment]) -> list[Work]:
        works: dict[int, Work] = {}
        with self.settings():
            for block in _blocks(wave, self.lanes.count):
                works.update(zip(block, self._side_by_side([wave[i] for i in block]), strict=True))
        return [works[i] for i in range(len(wave))]

    def train_columns(self, wave: Columns, places: Places) -> None:
        jobs = [wave.job(j) for j in range(len(wave.client))]
        rules = [wave.rules[which] for which in wave.rule.tolist()]
        assignments = [Assignment(job, rule, rule.start[:0]) for job, rule in zip(jobs, rules, strict=True)]
        for work, matrix, row in zip(self.train(assignments), places.matrix.tolist(), places.row.tolist(), strict=True):
            places.matrices[matrix][row] = getattr(work, wave.sends)

    def _side_by_side(self, block: list[Assignment]) -> list[Work]:
        """Trains at most as many jobs as there are lanes. Their rules have one form."""
        lanes, rule = self.lanes, block[0].rule
        vectors = [name for name in VECTORS if getattr(rule, name) is not None]
        stacked = {name: self._stack(block, f"rule.{name}", lanes.flat) for name in vectors}
        load(lanes.flat, stacked["start"])
        rule = replace(rule, start=stacked["start"], correction=stacked.get("correction"), anchor=stacked.get("anchor"))
        load(lanes.buffers, self._stack(block, "buffers", lanes.buffers))
        with Stage(block[0].job, f"local training side by side with {len(block) - 1} other jobs"):
            return self._descend(block, rule, self._schedule([assignment.job for assignment in block]))

    def _descend(self, block: list[Assignment], rule: LocalRule, schedule: Schedule) -> list[Work]:
        """Makes all steps of all lanes. The result of a job is taken after its last step; then its
        lane is idle."""
        y, direction = self.lanes.flat, Direction(rule, self.local, self.at)
        works: dict[int, Work] = {}
        for step in range(schedule.steps + 1):
            for lane, assignment in enumerate(block):
                if assignment.job.steps == step:
                    works[lane] = self._result(lane, assignment, direction)
            if step < schedule.steps:
                h = direction.gradient(self.lanes, *self._batch(schedule, step))
                y.add_(direction(h, y), alpha=-rule.lr * self.local.factor_of_step(step))
        return [works[lane] for lane in range(len(block))]

    def _result(self, lane: int, assignment: Assignment, direction: Direction) -> Work:
        end, end_buffers = (
            answer(self.lanes.flat[lane], assignment.rule.start),
            answer(self.lanes.buffers[lane], assignment.buffers),
        )
        by_products = direction.by_products(assignment.job.steps, lane)
        with self._borrowed() as replica:
            return self._work(replica, assignment, end, end_buffers, by_products)

    def _stack(self, block: list[Assignment], field: str, like: torch.Tensor) -> Array:
        """Returns a vector of every job, one a lane, in the shape of `like`, with zeros in lanes
        without a job. They lie where the first one does."""
        stack = np.zeros_like(attrgetter(field)(block[0]), self.dtype, shape=tuple(like.shape))
        for lane, assignment in enumerate(block):
            with Stage(assignment.job, "local training"):
                stack[lane] = attrgetter(field)(assignment)
        return stack

    # ---- what a step sees ----

    def _schedule(self, jobs: list[Job]) -> Schedule:
        """Returns the batches of the jobs. An idle lane sees row 0 once."""
        steps, place = max(job.steps for job in jobs), torch.arange(self.examples)
        rows = torch.zeros(steps, self.lanes.count, self.examples, dtype=torch.int64)
        changes = None if self.task.augmentation is None else torch.zeros_like(rows)
        sizes = torch.ones(steps, self.lanes.count, 1, dtype=torch.int64)
        for lane, job in enumerate(jobs):
            with Stage(job, "local training"):
                drawn, offsets, how = self._draws(job)
                begin = torch.tensor(offsets)[:, None]
                n = begin.diff(dim=0)
                if self.has_single_values and (n == 1).any():
                    raise ValueError(
                        "batch normalisation: expected more than one value per channel, got a batch of 1 example of 1 x 1"
                    )
                chosen = begin[:-1] + torch.where(place < n, place, 0)
                rows[: job.steps, lane], sizes[: job.steps, lane] = drawn[chosen], n
                if changes is not None and how is not None:
                    changes[: job.steps, lane] = how[chosen]
        streams = [RandomStream(self.seed, Purpose.dropout, job.client, job.k) for job in jobs]
        weights = (place < sizes).to(self.real) / sizes
        changes = None if changes is None else changes.to(self.at)
        return Schedule(jobs, streams, sizes, rows.to(self.at), weights.to(self.at), changes)

    def _batch(
        self, schedule: Schedule, step: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, Callable[[], list[torch.Tensor]]]:
        """Returns the arguments of Lanes.backward for a step."""
        rows, changes = schedule.rows[step], None if schedule.changes is None else schedule.changes[step].flatten()
        features = self._features(rows.flatten(), changes).reshape(*rows.shape, *self.task.model.input_shape)
        return features, self.y[rows], schedule.weights[step], functools.partial(self._masks, schedule, step)

    def _masks(self, schedule: Schedule, step: int) -> list[torch.Tensor]:
        """Returns the dropout masks of a step. The words of a lane's stream are used forward by
        forward, layer by layer, example by example."""
        masks = []
        for layer, shape in self.dropouts:
            stack = torch.zeros(self.lanes.count, *mask_shape(layer, (self.examples, *shape)), dtype=self.real)
            for lane, (job, stream) in enumerate(zip(schedule.jobs, schedule.streams, strict=True)):
                if step < job.steps:
                    n = int(schedule.sizes[step, lane])
                    stack[lane, :n] = dropout_mask(layer, (n, *shape), stream, self.real)
            masks.append(stack.to(self.at))
        return masks


@dataclass(frozen=True)
class Schedule:
    """The batches of some jobs, one job a lane.

    Attributes:
        streams: the dropout words of each lane.
        sizes: the sizes of batches (steps, lanes, 1).
        rows: rows of the training set (steps, lanes, examples).
        weights: weights of examples (steps, lanes, examples), see Lanes.backward.
        changes: how images are changed (steps, lanes, examples).
    """

    jobs: list[Job]
    streams: list[RandomStream]
    sizes: torch.Tensor
    rows: torch.Tensor
    weights: torch.Tensor
    changes: torch.Tensor | None

    @property
    def steps(self) -> int:
        return len(self.rows)


def _blocks(wave: Sequence[Assignment], lanes: int) -> Iterator[list[int]]:
    """Yields the indices of jobs that go side by side: with rules of one form, and about as many
    steps."""
    forms: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, assignment in enumerate(wave):
        forms[_form(assignment.rule)].append(index)
    for indices in forms.values():
        indices.sort(key=lambda index: -wave[index].job.steps)
        yield from (indices[begin : begin + lanes] for begin in range(0, len(indices), lanes))


def _form(rule: LocalRule) -> tuple[object, ...]:
    """Returns the scalars of a rule, and which vectors it has."""
    return tuple(value is None if name in VECTORS else value for name, value in vars(rule).items())
