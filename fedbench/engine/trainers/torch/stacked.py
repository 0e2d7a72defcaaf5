"""The torch trainer of a device: trains the jobs of a wave side by side, as stacked tensors, step
by step."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch

from fedbench.engine.trainers.base import Assignment, Columns, Places, Workload
from fedbench.engine.trainers.counted import lanes as lanes_for
from fedbench.engine.trainers.meeting import Meeting
from fedbench.engine.trainers.torch.base import TorchTask
from fedbench.engine.trainers.torch.blocks import Asked
from fedbench.engine.trainers.torch.card import Card
from fedbench.engine.trainers.torch.data import Features
from fedbench.engine.trainers.torch.device import deterministic
from fedbench.engine.trainers.torch.lanes import Lanes
from fedbench.tasks.data import Examples
from fedbench.tasks.layers import BatchNorm2d, in_order
from fedbench.types import Array, Work

T = TypeVar("T")


@dataclass(eq=False)
class Kept:
    """Examples, and where they are on a device."""

    examples: Examples
    x: Features
    y: torch.Tensor


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

    Trainers of a `meeting` share a card where they can, and the examples on it; the waves of their
    runs are trained together.

    All that a step reads and writes stays at its place, so on a GPU the steps of a form of rule
    that comes again are one CUDA graph.

    Executed on torch's CPU device. An earlier version, with torch's own convolutions and without
    graphs, was executed on one H200 with torch 2.11.0+cu130 (2026-11-26). `pytest -m gpu
    tests/engine` is the check of a GPU.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        dtype: npt.DTypeLike = np.float32,
        device: str = "cuda",
        lanes: int = 0,
        meeting: Meeting | None = None,
    ) -> None:
        self.meeting = meeting
        self._holds: list[Kept] = []
        super().__init__(workload, dtype=dtype, device=device)
        model, local = workload.task.layered, self.local
        self.examples = min(workload.batch_size, int(self.shards.sizes.max()))
        self.lanes = lanes or lanes_for(model, self.examples, workload.together)
        terms = (workload.loss, local.clip_norm, local.label_smoothing, local.momentum, local.nesterov, self.task.augmentation)
        form = (model, self.lanes, self.examples, self.real, self.at, self.y.dtype, terms)
        self.card = self._shared(form, self._card)

    def _shared(self, key: Hashable, make: Callable[[], T]) -> T:
        return make() if self.meeting is None else self.meeting.shared(key, make)

    def _kept(self, examples: Examples) -> tuple[Features, torch.Tensor]:
        make = functools.partial(super()._kept, examples)
        kept = self._shared((id(examples), self.real, self.at), lambda: Kept(examples, *make()))
        self._holds.append(kept)
        return kept.x, kept.y

    def _card(self) -> Card:
        model = self.task.layered
        lanes = Lanes(model, self.lanes, self.examples, self.real, self.at, self.loss, self.y.dtype)
        layers = in_order(model.layers, model.input_shape)
        has_single_values = any(isinstance(layer, BatchNorm2d) and math.prod(shape[1:]) == 1 for layer, shape in layers)
        return Card(lanes, self.local, has_single_values=has_single_values)

    def settings(self) -> AbstractContextManager[None]:
        return deterministic()

    def train(self, wave: Sequence[Assignment]) -> list[Work]:
        asked = Asked(self, wave)
        if self.meeting is None:
            self.card.train([asked])
        else:
            self.meeting.train(self.card, asked)
        return asked.answer()

    def train_columns(self, wave: Columns, places: Places) -> None:
        jobs = [wave.job(j) for j in range(len(wave.client))]
        rules = [wave.rules[which] for which in wave.rule.tolist()]
        assignments = [Assignment(job, rule, rule.start[:0]) for job, rule in zip(jobs, rules, strict=True)]
        for work, matrix, row in zip(self.train(assignments), places.matrix.tolist(), places.row.tolist(), strict=True):
            places.matrices[matrix][row] = getattr(work, wave.sends)

    def work(self, assignment: Assignment, end: Array, end_buffers: Array, by_products: dict[str, Array]) -> Work:
        with self._borrowed() as replica:
            return self._work(replica, assignment, end, end_buffers, by_products)
