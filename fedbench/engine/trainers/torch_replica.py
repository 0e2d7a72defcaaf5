"""A module of one's own, with flat parameters: what trains a job, and what the server distils into."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from fedbench.engine.trainers.base import SERVER
from fedbench.kernels.random import Purpose, Stream
from fedbench.protocols import Logits, Pullback
from fedbench.tasks.task import Task
from fedbench.tasks.torch_model import build, flatten_parameters
from fedbench.types import Vector


class Replica:
    """A worker's own module, with its parameters and gradients as views of two flat tensors (d,)."""

    def __init__(self, task: Task) -> None:
        self.module = build(task.model)
        self.flat = torch.zeros(task.model.dim)
        self.gradient = flatten_parameters(self.module, self.flat)

    def load(self, x: Vector) -> None:
        self.flat.numpy()[:] = x

    def backward(self, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The gradient (d,) of the mean cross-entropy over a batch at the loaded parameters; valid until the next call."""
        self.gradient.zero_()
        F.cross_entropy(self.module(features), labels).backward()  # type: ignore[no-untyped-call]
        return self.gradient


class Student:
    """The replica into which the server's model is distilled: one forward, then at most one pullback of it."""

    def __init__(self, task: Task, seed: int) -> None:
        self.replica, self.seed = Replica(task), seed
        self.masked_version = -1
        self.calls = 0

    def logits(self, x: Vector, features: torch.Tensor, training_version: int | None) -> tuple[Logits, Pullback]:
        """Logits (B, C) under x, and from their gradient to that of x. `training_version` None: in evaluation; else as in training,
        with dropout masks keyed by seed and version: every call of a version goes on in their stream."""
        self.calls += 1
        call, module, gradient = self.calls, self.replica.module, self.replica.gradient
        self.replica.load(x)
        module.train(training_version is not None)
        if training_version is not None and training_version != self.masked_version:
            module.set_masks(Stream(self.seed, Purpose.dropout, SERVER, training_version))
            self.masked_version = training_version
        logits = module(features)

        def pullback(dlogits: Logits) -> Vector:
            if call != self.calls:
                raise RuntimeError("public_logits: this pullback is of an earlier call; use it before the next one")
            gradient.zero_()
            logits.backward(torch.from_numpy(dlogits))
            return gradient.numpy().copy()

        return logits.detach().numpy(), pullback
