"""A card of a device: the memory in which jobs train side by side, step by step, whoever's jobs
they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from operator import attrgetter

import numpy as np
import torch

from fedbench.engine.trainers.base import Stage
from fedbench.engine.trainers.torch.blocks import VECTORS, Asked, Lane, Schedule, blocks_of, form_of
from fedbench.engine.trainers.torch.data import answer, load
from fedbench.engine.trainers.torch.device import deterministic
from fedbench.engine.trainers.torch.graph import CudaGraphs, Graphs, Repeated
from fedbench.engine.trainers.torch.lanes import Inputs, Lanes
from fedbench.engine.trainers.torch.loss import CrossEntropy
from fedbench.engine.trainers.torch.philox import MaskDrawer
from fedbench.engine.trainers.torch.rule import ADAM_BETA1, ADAM_BETA2, Direction
from fedbench.scenarios.local_parts import LocalPart
from fedbench.types import Array, LocalRule, Work

KEPT_STEPS = 2
"""Of how many forms of rules the memory of a step is kept, and its graph."""
DRAWN_BYTES = 1 << 26
"""How much memory the draws of the steps that are drawn at a time may take, if it is more than
one."""


class Card:
    """The memory of `lanes`, with the steps and graphs that work in it.

    A block of jobs goes side by side. They may be those of several runs: each lane has the vectors,
    the rate, the seed and the examples of its own. The rules of a block have one form.
    """

    def __init__(self, lanes: Lanes, local: LocalPart, *, has_single_values: bool = False) -> None:
        """`local` has the terms of a step beside a rule. With `has_single_values` a batch of one
        example cannot be normalised."""
        self.lanes, self.local, self.has_single_values = lanes, local, has_single_values
        self.masks = MaskDrawer(lanes.dropouts, lanes.examples, lanes.dtype, lanes.device)
        self.graphs: Graphs | None = CudaGraphs() if lanes.device.type == "cuda" else None
        self.steps: dict[Hashable, Step] = {}

    def settings(self) -> AbstractContextManager[None]:
        return deterministic()

    def train(self, asked: Sequence[Asked]) -> None:
        """Trains the waves of some runs. An error ends the wave whose job raises it. The thread may
        be any: torch holds its number of threads by thread."""
        torch.set_num_threads(1)
        for block in blocks_of([Lane(one, at) for one in asked for at in range(len(one.wave))], self.lanes.count):
            self._train(block)

    def _train(self, block: Sequence[Lane]) -> None:
        """Trains a block. If that fails, it is trained again run by run, which changes no bit."""
        block = [lane for lane in block if lane.asked.error is None]
        of_runs: defaultdict[Asked, list[Lane]] = defaultdict(list)
        for lane in block:
            of_runs[lane.asked].append(lane)
        if not block:
            return
        try:
            with self.settings():
                works = self._side_by_side(block)
        except Exception as error:
            if len(of_runs) == 1:
                block[0].asked.error = error
                return
            for lanes in of_runs.values():
                self._train(lanes)
        else:
            for lane, work in zip(block, works, strict=True):
                lane.asked.works[lane.at] = work

    def _side_by_side(self, block: Sequence[Lane]) -> list[Work]:
        """Trains at most as many jobs as there are lanes. Their rules have one form."""
        lanes, rule = self.lanes, block[0].assignment.rule
        vectors = [name for name in VECTORS if getattr(rule, name) is not None]
        stacked = {name: self._stack(block, f"rule.{name}", lanes.flat) for name in vectors}
        load(lanes.flat, stacked["start"])
        rule = replace(rule, start=stacked["start"], correction=stacked.get("correction"), anchor=stacked.get("anchor"))
        load(lanes.buffers, self._stack(block, "buffers", lanes.buffers))
        with Stage(block[0].job, f"local training side by side with {len(block) - 1} other jobs"):
            schedule = Schedule.of(block, lanes, has_single_values=self.has_single_values)
            return self._descend(block, self._step(rule), schedule)

    def _step(self, rule: LocalRule) -> Step:
        """Returns the step of a rule, in the memory of one that had its form."""
        form = form_of(rule)
        if form in self.steps:
            step = self.steps.pop(form)
            step.direction.restart(rule)
        else:
            step = Step(self, Direction(rule, self.local, self.lanes.device))
        self.steps[form] = step  # the last one to be forgotten
        if len(self.steps) > KEPT_STEPS:
            del self.steps[next(iter(self.steps))]
        return step

    def _descend(self, block: Sequence[Lane], step: Step, schedule: Schedule) -> list[Work]:
        """Makes all steps of all lanes. The result of a job is taken after its last step; then its
        lane is idle."""
        works: dict[int, Work] = {}
        drawn: list[torch.Tensor] = []
        for number in range(schedule.steps + 1):
            for lane, one in enumerate(block):
                if one.job.steps == number:
                    works[lane] = self._result(lane, one, step.direction)
            if number < schedule.steps:
                drawn = drawn or [*self._rows(schedule, number, step.inputs)]
                step.inputs.row.copy_(drawn.pop(0))
                schedule.take(number, step.inputs.features)
                step.make(is_first=number == 0)
        step.is_known = True
        return [works[lane] for lane in range(len(block))]

    def _result(self, number: int, lane: Lane, direction: Direction) -> Work:
        asked = lane.assignment
        end, end_buffers = answer(self.lanes.flat[number], asked.rule.start), answer(self.lanes.buffers[number], asked.buffers)
        return lane.run.work(asked, end, end_buffers, direction.by_products(asked.job.steps, number))

    def _stack(self, block: Sequence[Lane], name: str, like: torch.Tensor) -> Array:
        """Returns a vector of every job, one a lane, in the shape of `like`, with zeros in lanes
        without a job. They lie where the first one does."""
        first = attrgetter(name)(block[0].assignment)
        stack = np.zeros_like(first, torch.empty(0, dtype=self.lanes.dtype).numpy().dtype, shape=tuple(like.shape))
        for number, lane in enumerate(block):
            with Stage(lane.job, "local training"):
                stack[number] = attrgetter(name)(lane.assignment)
        return stack

    # ---- what a step sees ----

    def _rows(self, schedule: Schedule, number: int, inputs: Inputs) -> torch.Tensor:
        """Returns Inputs.row for as many steps from this one on as are drawn at a time."""
        loss, dtype = self.lanes.loss, self.lanes.dtype
        numbers = inputs.row.numel() * dtype.itemsize + inputs.of_forwards.numel() * MaskDrawer.BYTES
        steps = slice(number, number + max(1, DRAWN_BYTES // numbers))
        labels = torch.cat([run.y[schedule.rows[steps, lanes]] for run, lanes in schedule.parts], 1)
        sizes = schedule.sizes[steps]
        drawn = torch.empty(len(labels), inputs.row.numel(), dtype=dtype, device=self.lanes.device)
        corrections, rates, weights, slopes, masks = inputs.views(drawn)
        powers = np.arange(number, number + len(labels)) + 1
        corrections.copy_(torch.from_numpy(np.stack([1 - ADAM_BETA1**powers, 1 - ADAM_BETA2**powers], 1)))
        rates.copy_(torch.from_numpy(schedule.rates[steps, :, None]))
        n = torch.from_numpy(np.maximum(sizes, 1))[..., None]
        weights.copy_((torch.arange(self.lanes.examples) < n).to(dtype) / n)
        of_loss = loss.slopes(labels, slopes.shape[2], weights) if isinstance(loss, CrossEntropy) else labels[:, :, None]
        slopes.copy_(of_loss)
        if masks.numel():
            seeds, jobs = [lane.run.seed for lane in schedule.block], [lane.job for lane in schedule.block]
            self.masks.draw(seeds, jobs, schedule.begin[steps], sizes, masks)
        return drawn


class Step:
    """A step of all lanes, in memory that stays."""

    def __init__(self, card: Card, direction: Direction) -> None:
        self.lanes, self.direction = card.lanes, direction
        self.inputs = self.lanes.inputs(1 if direction.anchor is None else 2)
        direction.corrections = self.inputs.corrections.unbind()
        self.repeated = Repeated(self._make, card.graphs)
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
        y.addcmul_(self.direction(h, y), self.inputs.rates)
