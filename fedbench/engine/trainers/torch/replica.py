"""A module with flat parameters, which trains jobs, or into which the server distils."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fedbench.engine.trainers.base import SERVER
from fedbench.engine.trainers.torch.data import answer, copied, load
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.own_losses import Loss
from fedbench.protocols import Logits, Pullback
from fedbench.tasks.encoder import EncoderModel
from fedbench.tasks.models import Model
from fedbench.tasks.own_model import OwnModel
from fedbench.tasks.task import Task
from fedbench.tasks.torch_model import Maskable, build, flatten_buffers, flatten_parameters, trained
from fedbench.types import Vector

if TYPE_CHECKING:
    from fedbench.tasks.encoder_module import Encoder


class Replica:
    """A worker's own module. Its parameters and gradients are views of two flat tensors (d,), its
    buffers of a third (m,)."""

    def __init__(self, task: Task, dtype: torch.dtype, device: torch.device, loss: Loss) -> None:
        self.loss = loss
        self.module = _module(task.model, dtype).to(device)
        self.flat = torch.zeros(task.model.dim, dtype=dtype, device=device)
        self.gradient = flatten_parameters(self.module, self.flat)
        self.buffers = torch.from_numpy(task.model.buffers0()).to(device, dtype)
        flatten_buffers(self.module, self.buffers)
        self.parameters: list[torch.Tensor] = [*trained(self.module)]
        self._held: object = None

    def load(self, x: Vector, buffers: Vector) -> None:
        load(self.flat, x)
        load(self.buffers, buffers)
        self._held = None

    def hold(self, model: object, x: Vector, buffers: Vector) -> None:
        """Loads a model for evaluation, unless it was the last one to be loaded. `model` stands for
        it, and for no other."""
        if self._held is not model:
            self.load(x, buffers)
            self.module.eval()
            self._held = model

    def gradients(self, features: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Returns the gradient of the mean loss over a batch at the loaded parameters, one
        tensor for each of them."""
        return torch.autograd.grad(self.loss.mean(self.module(features), labels), self.parameters)

    def backward(self, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Returns the same gradient as a vector (d,), valid until the next call."""
        return torch.cat([g.reshape(-1) for g in self.gradients(features, labels)], out=self.gradient)

    def descend(self, features: torch.Tensor, labels: torch.Tensor, lr: float, weight_decay: float) -> None:
        """Makes the step y <- y - lr * (g + weight_decay * y), with the bits of flat vectors but
        without making any."""
        gradients = self.gradients(features, labels)
        with torch.no_grad():
            if weight_decay:
                torch._foreach_add_(gradients, self.parameters, alpha=weight_decay)
            torch._foreach_add_(self.parameters, gradients, alpha=-lr)


def _module(model: Model | EncoderModel | OwnModel, dtype: torch.dtype) -> Maskable | Encoder:
    if isinstance(model, OwnModel):
        return model.source.module(dtype)
    if not isinstance(model, EncoderModel):
        return build(model, dtype)
    from fedbench.tasks.encoder_module import build_encoder  # transformers takes seconds to import

    return build_encoder(model, dtype)


class Student:
    """The replica into which the server's model is distilled. After each forward, at most one
    pullback of it may follow."""

    def __init__(self, replica: Replica, seed: int) -> None:
        self.replica, self.seed = replica, seed
        self.masked_version = -1

    def logits(self, x: Vector, buffers: Vector, features: torch.Tensor, training_version: int | None) -> tuple[Logits, Pullback]:
        """Returns what Backend.public_logits states. Changes that a forward in training makes to
        the buffers are dropped."""
        module, gradient = self.replica.module, self.replica.gradient
        self.replica.load(x, buffers)
        module.train(training_version is not None)
        if training_version is not None and training_version != self.masked_version:
            module.set_masks(RandomStream(self.seed, Purpose.dropout, SERVER, training_version))
            self.masked_version = training_version
        logits = module(features)

        def pullback(dlogits: Logits) -> Vector:
            gradient.zero_()
            logits.backward(copied(dlogits, gradient.device))
            return answer(gradient, x)

        return answer(logits.detach(), x), pullback
