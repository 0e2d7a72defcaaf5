"""Trains models side by side: one module with stacked parameters and buffers, and one backward pass
for the gradients of all models."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.func import functional_call, vmap

from fedbench.engine.trainers.torch.embedding import gather
from fedbench.own_losses import Loss
from fedbench.tasks.models import Model
from fedbench.tasks.tensors import Tensor
from fedbench.tasks.torch_model import Symbols, build

Tensors = dict[str, torch.Tensor]


class Lanes:
    """Holds `count` models, called lanes, with parameters `flat` (count, d) and buffers (count, m),
    which are written in place."""

    def __init__(self, model: Model, count: int, dtype: torch.dtype, device: torch.device, loss: Loss) -> None:
        self.count, self.loss = count, loss
        self.module = build(model, dtype).to("meta").train()  # its tensors are never used
        for part in self.module.modules():
            if isinstance(part, Symbols):
                part.gather = gather
        self.flat = torch.zeros(count, model.dim, dtype=dtype, device=device)
        self.buffers = torch.zeros(count, sum(buffer.size for buffer in model.buffers), dtype=dtype, device=device)
        self.parameters = self._views(self.flat, model.parameters, requires_grad=True)
        self.named_buffers = self._views(self.buffers, model.buffers, requires_grad=False)

    def _views(self, flat: torch.Tensor, parts: tuple[Tensor, ...], *, requires_grad: bool) -> Tensors:
        views = {p.name: flat[:, p.offset : p.offset + p.size].view(self.count, *p.shape) for p in parts}
        return {name: view.detach().requires_grad_(requires_grad) for name, view in views.items()}

    def backward(
        self, features: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor, draw: Callable[[], list[torch.Tensor]]
    ) -> torch.Tensor:
        """Returns the gradient (lanes, d) of every lane's loss, the sum of the losses of its
        examples times `weights`.

        Args:
            features: the batches (lanes, b, ..).
            labels: their labels (lanes, b).
            weights: the weights of the examples (lanes, b): 1 / n for the n examples of a lane, and
                0 for those that fill up the batch. The first of a lane is an example.
            draw: gives the dropout masks (lanes, b, ..) of a forward, in the order of use.
        """
        logits, averages = vmap(self._forward)(self.parameters, self.named_buffers, features, weights, draw())
        losses = self.loss.terms(logits.flatten(0, 1), labels.flatten())
        # No lane's loss depends on another's parameters: the gradient of the sum is the stack of
        # the gradients.
        gradients = torch.autograd.grad((losses * weights.flatten()).sum(), list(self.parameters.values()))
        if averages:
            self.buffers.copy_(torch.cat(averages, 1))
        return torch.cat([g.reshape(self.count, -1) for g in gradients], 1)

    def _forward(
        self, parameters: Tensors, buffers: Tensors, features: torch.Tensor, weights: torch.Tensor, masks: list[torch.Tensor]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Returns the logits of one lane, and the buffers that it leaves."""
        self.module.set_masks(iter(masks))
        self.module.set_weights(weights)
        logits = functional_call(self.module, parameters | buffers, (features,))
        return logits, self.module.averages()
