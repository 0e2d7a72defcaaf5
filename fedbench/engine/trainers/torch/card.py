"""A card of a device: the memory in which jobs train side by side, step by step, whoever's jobs
they are."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from operator import attrgetter

import numpy as np
import torch

from fedbench.engine.trainers.base import Stage
from fedbench.engine.trainers.torch.blocks import VECTORS, Asked, Entry, Schedule, Turn, blocks_of, form_of
from fedbench.engine.trainers.torch.data import answer, load
from fedbench.engine.trainers.torch.device import deterministic
from fedbench.engine.trainers.torch.graph import CudaGraphs, Graphs, Repeated
from fedbench.engine.trainers.torch.lanes import Inputs, Lanes
from fedbench.engine.trainers.torch.loss import CrossEntropy
from fedbench.engine.trainers.torch.philox import MaskDrawer
from fedbench.engine.trainers.torch.rule import ADAM_BETA1, ADAM_BETA2, Directions
from fedbench.scenarios.local_parts import LocalPart
from fedbench.types import Array, LocalRule, Work

KEPT_STEPS = 2
"""Of how many forms of rules the memory of a step is kept, and its graph."""
DRAWN_BYTES = 1 << 26
"""How much memory the draws of the steps that are drawn at a time may take, if it is more than
one."""


class Card:
    """The memory of `lanes`, with the steps and graphs that work in it.

    The jobs of a block go side by side, and a lane whose job has ended is given the next one. They
    may be those of several runs: each lane has the vectors, the rate, the seed and the examples of
    its own. The rules of a block have one form.
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
        for block in blocks_of([Entry(one, at) for one in asked for at in range(len(one.wave))], self.lanes.count):
            self._train(block)

    def _train(self, block: Sequence[Entry]) -> None:
        """Trains a block. If that fails, it is trained again run by run, which changes no bit."""
        block = [entry for entry in block if entry.asked.error is None]
        of_runs: defaultdict[Asked, list[Entry]] = defaultdict(list)
        for entry in block:
            of_runs[entry.asked].append(entry)
        if not block:
            return
        try:
            with self.settings():
                works = self._side_by_side(block)
        except Exception as error:
            if len(of_runs) == 1:
                block[0].asked.error = error
                return
            for of_run in of_runs.values():
                self._train(of_run)
        else:
            for entry, work in works:
                entry.asked.works[entry.at] = work

    def _side_by_side(self, block: Sequence[Entry]) -> list[tuple[Entry, Work]]:
        """Trains jobs whose rules have one form."""
        lanes, first, rule = self.lanes, block[: self.lanes.count], block[0].assignment.rule
        vectors = [name for name in VECTORS if getattr(rule, name) is not None]
        stacked = {name: self._stack(first, f"rule.{name}", lanes.flat) for name in vectors}
        load(lanes.flat, stacked["start"])
        rule = replace(rule, start=stacked["start"], correction=stacked.get("correction"), anchor=stacked.get("anchor"))
        load(lanes.buffers, self._stack(first, "buffers", lanes.buffers))
        with Stage(block[0].job, f"local training together with {len(block) - 1} other jobs"):
            schedule = Schedule.of(block, lanes, has_single_values=self.has_single_values)
            return self._descend(schedule, self._step(rule))

    def _step(self, rule: LocalRule) -> Step:
        """Returns the step of a rule, in the memory of one that had its form."""
        form = form_of(rule)
        if form in self.steps:
            step = self.steps.pop(form)
            step.directions.restart(rule)
        else:
            step = Step(self, rule)
        self.steps[form] = step  # the last one to be forgotten
        if len(self.steps) > KEPT_STEPS:
            del self.steps[next(iter(self.steps))]
        return step

    def _descend(self, schedule: Schedule, step: Step) -> list[tuple[Entry, Work]]:
        """Makes all steps of all lanes. The result of a job is taken after its last step; then the
        lane's next job begins."""
        works: list[tuple[Entry, Work]] = []
        drawn: list[torch.Tensor] = []
        waiting, ends = deque(schedule.turns), defaultdict[int, list[Turn]](list)
        for number in range(schedule.steps + 1):
            works += [self._result(turn, step.directions) for turn in ends.pop(number, ())]
            while waiting and waiting[0].begin == number:
                turn = waiting.popleft()
                self._begin(turn, step.directions)
                if turn.end == number:
                    works.append(self._result(turn, step.directions))
                else:
                    ends[turn.end].append(turn)
            if number < schedule.steps:
                drawn = drawn or [*self._rows(schedule, number, step.inputs)]
                step.inputs.row.copy_(drawn.pop(0))
                schedule.take(number, step.inputs.features)
                step.make()
        step.is_known = step.is_known or schedule.steps > 0
        return works

    def _begin(self, turn: Turn, directions: Directions) -> None:
        """Begins with a job. The first ones of all lanes are there already."""
        if turn.place:
            asked = turn.entry.assignment
            with Stage(asked.job, "local training"):
                load(self.lanes.flat[turn.lane], asked.rule.start)
                load(self.lanes.buffers[turn.lane], asked.buffers)
                directions.restart(asked.rule, turn.lane)

    def _result(self, turn: Turn, directions: Directions) -> tuple[Entry, Work]:
        asked, lane = turn.entry.assignment, turn.lane
        end, end_buffers = answer(self.lanes.flat[lane], asked.rule.start), answer(self.lanes.buffers[lane], asked.buffers)
        gradients = directions.by_products(asked.job.steps, asked.rule.start, lane)
        return turn.entry, turn.entry.run.work(asked, end, end_buffers, gradients)

    def _stack(self, entries: Sequence[Entry], name: str, like: torch.Tensor) -> Array:
        """Returns a vector of some jobs, one a lane, in the shape of `like`, with zeros in lanes
        without a job. They lie where the first one does."""
        first = attrgetter(name)(entries[0].assignment)
        stack = np.zeros_like(first, torch.empty(0, dtype=self.lanes.dtype).numpy().dtype, shape=tuple(like.shape))
        for number, entry in enumerate(entries):
            with Stage(entry.job, "local training"):
                stack[number] = attrgetter(name)(entry.assignment)
        return stack

    # ---- what a step sees ----

    def _rows(self, schedule: Schedule, number: int, inputs: Inputs) -> torch.Tensor:
        """Returns Inputs.row for as many steps from this one on as are drawn at a time."""
        loss, dtype = self.lanes.loss, self.lanes.dtype
        numbers = inputs.row.numel() * dtype.itemsize + inputs.of_forwards.numel() * MaskDrawer.BYTES
        steps = slice(number, number + max(1, DRAWN_BYTES // numbers))
        labels, sizes = schedule.labels(steps), schedule.sizes[steps]
        drawn = torch.empty(len(labels), inputs.row.numel(), dtype=dtype, device=self.lanes.device)
        corrections, ages, rates, weights, slopes, masks = inputs.views(drawn)
        age = np.maximum(schedule.age[steps, :, None], 1)
        corrections.copy_(torch.from_numpy(np.stack([1 - ADAM_BETA1**age, 1 - ADAM_BETA2**age], 1)))
        ages.copy_(torch.from_numpy(age))
        rates.copy_(torch.from_numpy(schedule.rates[steps, :, None]))
        n = torch.from_numpy(np.maximum(sizes, 1))[..., None]
        weights.copy_((torch.arange(self.lanes.examples) < n).to(dtype) / n)
        of_loss = loss.slopes(labels, slopes.shape[2], weights) if isinstance(loss, CrossEntropy) else labels[:, :, None]
        slopes.copy_(of_loss)
        if masks.numel():
            self.masks.draw(schedule.streams[:, steps], schedule.begin[steps], sizes, masks)
        return drawn


class Step:
    """A step of all lanes, in memory that stays."""

    def __init__(self, card: Card, rule: LocalRule) -> None:
        """The vectors of the rule are stacked (lanes, d)."""
        self.lanes = card.lanes
        self.inputs = self.lanes.inputs(1 if rule.anchor is None else 2)
        self.directions = Directions(rule, card.local, self.lanes.flat, self.inputs.age)
        self.directions.corrections = self.inputs.corrections.unbind()
        self.repeated = Repeated(self._make, card.graphs)
        self.is_known = False
        """Whether it was made for other jobs before: a graph can be made then, and is worth it."""

    def make(self) -> None:
        """Makes a step, with what lies in `inputs`."""
        if self.is_known:
            self.repeated.again()
        else:
            self.repeated.once()

    def _make(self) -> None:
        y = self.lanes.flat
        self.inputs.begin()
        h = self.directions.gradient(self.lanes, self.inputs)
        y.addcmul_(self.directions(h, y), self.inputs.rates)
