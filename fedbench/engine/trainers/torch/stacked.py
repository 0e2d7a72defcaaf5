"""The torch trainer of a device: trains the jobs of a wave side by side, as stacked tensors, step
by step."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
import numpy.typing as npt
import torch

from fedbench.engine.trainers.base import Assignment, Columns, Places, Stage, Workload
from fedbench.engine.trainers.counted import lanes as lanes_for
from fedbench.engine.trainers.torch.base import TorchTask
from fedbench.engine.trainers.torch.data import answer, load
from fedbench.engine.trainers.torch.device import deterministic
from fedbench.engine.trainers.torch.graph import CudaGraphs, Graphs, Repeated
from fedbench.engine.trainers.torch.lanes import Inputs, Lanes
from fedbench.engine.trainers.torch.loss import CrossEntropy
from fedbench.engine.trainers.torch.philox import MaskDrawer
from fedbench.engine.trainers.torch.rule import ADAM_BETA1, ADAM_BETA2, Direction
from fedbench.tasks.layers import BatchNorm2d, in_order
from fedbench.types import Array, Job, LocalRule, Work

VECTORS = ("start", "correction", "anchor")
KEPT_STEPS = 2
"""Of how many forms of rules the memory of a step is kept, and its graph."""
DRAWN_BYTES = 1 << 26
"""How much memory the draws of the steps that are drawn at a time may take, if it is more than
one."""


class StackedTrainer(TorchTask):
    """Trains a Task on one torch device, `lanes` jobs at a time, or as many as `counted.lanes`
    says.

    A job sees the data order, dropout masks and changed images of TorchTrainer, and gives its
    result up to rounding. The result depends on the Assignment and the seed only:

    - There are always `lanes` lanes, idle ones among them, and batches are always filled up to one
      size with examples that do not count, so no shape depends on the wave.
    - What the device draws, dropout masks, has the bits of the CPU.
    - The settings of `deterministic` hold while it computes.

    Another number of lanes, device or library version may round otherwise.

    All that a step reads and writes stays at its place, so on a GPU the steps of a form of rule
    that comes again are one CUDA graph.

    Executed on torch's CPU device. An earlier version, with torch's own convolutions and without
    graphs, was executed on one H200 with torch 2.11.0+cu130 (2026-11-26). `pytest -m gpu
    tests/engine` is the check of a GPU.
    """

    def __init__(self, workload: Workload, *, dtype: npt.DTypeLike = np.float32, device: str = "cuda", lanes: int = 0) -> None:
        super().__init__(workload, dtype=dtype, device=device)
        model = workload.task.layered
        self.examples = min(workload.batch_size, int(self.shards.sizes.max()))
        count = lanes or lanes_for(model, self.examples, workload.together)
        self.lanes = Lanes(model, count, self.examples, self.real, self.at, self.loss, self.y.dtype)
        self.masks = MaskDrawer(self.seed, self.lanes.dropouts, self.examples, self.real, self.at)
        layers = in_order(model.layers, model.input_shape)
        self.has_single_values = any(isinstance(layer, BatchNorm2d) and math.prod(shape[1:]) == 1 for layer, shape in layers)
        self.graphs: Graphs | None = CudaGraphs() if self.at.type == "cuda" else None
        self._steps: dict[tuple[object, ...], Step] = {}

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
            return self._descend(block, self._step(rule), self._schedule([assignment.job for assignment in block], rule))

    def _step(self, rule: LocalRule) -> Step:
        """Returns the step of a rule, in the memory of one that had its form."""
        form = _form(replace(rule, lr=0.0))
        if form in self._steps:
            step = self._steps.pop(form)
            step.direction.restart(rule)
        else:
            step = Step(self, Direction(rule, self.local, self.at))
        self._steps[form] = step  # the last one to be forgotten
        if len(self._steps) > KEPT_STEPS:
            del self._steps[next(iter(self._steps))]
        return step

    def _descend(self, block: list[Assignment], step: Step, schedule: Schedule) -> list[Work]:
        """Makes all steps of all lanes. The result of a job is taken after its last step; then its
        lane is idle."""
        works: dict[int, Work] = {}
        drawn: list[torch.Tensor] = []
        for number in range(schedule.steps + 1):
            for lane, assignment in enumerate(block):
                if assignment.job.steps == number:
                    works[lane] = self._result(lane, assignment, step.direction)
            if number < schedule.steps:
                drawn = drawn or [*self._rows(schedule, number, step.inputs)]
                step.inputs.row.copy_(drawn.pop(0))
                self._take(schedule, number, step.inputs.features)
                step.make(is_first=number == 0)
        step.is_known = True
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

    def _schedule(self, jobs: list[Job], rule: LocalRule) -> Schedule:
        """Returns the batches of the jobs. An idle lane sees row 0 once."""
        steps, place = max(job.steps for job in jobs), torch.arange(self.examples)
        rows = torch.zeros(steps, self.lanes.count, self.examples, dtype=torch.int64)
        changes = None if self.task.augmentation is None else torch.zeros_like(rows)
        begin, sizes = (np.zeros((steps, self.lanes.count), np.int64) for _ in range(2))
        for lane, job in enumerate(jobs):
            with Stage(job, "local training"):
                drawn, offsets, how = self._draws(job)
                begin[: job.steps, lane], sizes[: job.steps, lane] = offsets[:-1], np.diff(offsets)
                if self.has_single_values and (np.diff(offsets) == 1).any():
                    raise ValueError(
                        "batch normalisation: expected more than one value per channel, got a batch of 1 example of 1 x 1"
                    )
                of_steps = [torch.from_numpy(of[: job.steps, lane, None]) for of in (begin, sizes)]
                chosen = of_steps[0] + torch.where(place < of_steps[1], place, 0)
                rows[: job.steps, lane] = drawn[chosen]
                if changes is not None and how is not None:
                    changes[: job.steps, lane] = how[chosen]
        rates = [-rule.lr * self.local.factor_of_step(step) for step in range(steps)]
        return Schedule(jobs, begin, sizes, rates, rows.to(self.at), None if changes is None else changes.to(self.at))

    def _rows(self, schedule: Schedule, number: int, inputs: Inputs) -> torch.Tensor:
        """Returns Inputs.row for as many steps from this one on as are drawn at a time."""
        numbers = inputs.row.numel() * self.real.itemsize + inputs.of_forwards.numel() * MaskDrawer.BYTES
        steps = slice(number, number + max(1, DRAWN_BYTES // numbers))
        labels, sizes = self.y[schedule.rows[steps]], schedule.sizes[steps]
        drawn = torch.empty(len(labels), inputs.row.numel(), dtype=self.real, device=self.at)
        scalars, weights, slopes, masks = inputs.views(drawn)
        powers = np.arange(number, number + len(labels)) + 1
        of_steps = np.stack([schedule.rates[steps], 1 - ADAM_BETA1**powers, 1 - ADAM_BETA2**powers], 1)
        scalars.copy_(torch.from_numpy(of_steps))
        n = torch.from_numpy(np.maximum(sizes, 1))[..., None]
        weights.copy_((torch.arange(self.examples) < n).to(self.real) / n)
        of_loss = (
            self.loss.slopes(labels, slopes.shape[2], weights) if isinstance(self.loss, CrossEntropy) else labels[:, :, None]
        )
        slopes.copy_(of_loss)
        if masks.numel():
            self.masks.draw(schedule.jobs, schedule.begin[steps], sizes, masks)
        return drawn

    def _take(self, schedule: Schedule, number: int, features: torch.Tensor) -> None:
        """Copies the examples of a step."""
        rows, into = schedule.rows[number].flatten(), features.flatten(0, 1)
        if schedule.changes is None:
            self.x.take(rows, into)
        else:
            into.copy_(self._features(rows, schedule.changes[number].flatten()))


class Step:
    """A step of all lanes, in memory that stays."""

    def __init__(self, trainer: StackedTrainer, direction: Direction) -> None:
        self.lanes, self.direction = trainer.lanes, direction
        self.inputs = self.lanes.inputs(1 if direction.anchor is None else 2)
        self.rate, *direction.corrections = self.inputs.scalars
        self.repeated = Repeated(self._make, trainer.graphs)
        self.is_known = False
        """Whether jobs of its form came before: a graph is worth its making then."""

    def make(self, *, is_first: bool) -> None:
        """Makes a step, with what lies in `inputs`. The first one of jobs has no momentum yet."""
        if is_first or not self.is_known:
            self.repeated.once()
        else:
            self.repeated.again()

    def _make(self) -> None:
        y = self.lanes.flat
        h = self.direction.gradient(self.lanes, self.inputs)
        y.addcmul_(self.direction(h, y), self.rate)


@dataclass(frozen=True)
class Schedule:
    """The batches of some jobs, one job a lane.

    Attributes:
        begin: how many examples a lane saw before a step (steps, lanes).
        sizes: the sizes of batches (steps, lanes), 0 where a lane has no work.
        rates: minus the rates of the steps.
        rows: rows of the training set (steps, lanes, examples).
        changes: how images are changed (steps, lanes, examples).
    """

    jobs: list[Job]
    begin: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    rates: list[float]
    rows: torch.Tensor
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
