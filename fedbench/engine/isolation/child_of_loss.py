"""The process that runs a loss of somebody's and nothing else: it answers which losses outputs
have, and which slopes. It gets labels, and never features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbench.engine.isolation.child import Asking, main
from fedbench.engine.isolation.imports import code_of

if TYPE_CHECKING:
    from fedbench.types import Array


class ServedLoss(Asking):
    """A loss of outputs and labels."""

    def load(self, given: list[str | None], path: list[str]) -> None:
        """Takes the fields of the code's `Named`, with the import path of the other side."""
        import torch

        from fedbench.own_losses import Own

        torch.set_num_threads(1)
        self._own = Own(code_of(given, path))

    def mean(self, outputs: Array, labels: Array) -> list[Array]:
        """Returns the loss of a batch (1,), and its slope in every output."""
        import torch

        given = torch.from_numpy(outputs).requires_grad_()
        value = self._own.mean(given, torch.from_numpy(labels))
        (slopes,) = torch.autograd.grad(value, given)
        return [value.detach().reshape(1).numpy(), slopes.numpy()]

    def each(self, outputs: Array, labels: Array) -> list[Array]:
        """Returns the loss of every example (n,)."""
        import torch

        return [self._own.each(torch.from_numpy(outputs), torch.from_numpy(labels)).numpy()]


if __name__ == "__main__":
    main(ServedLoss)
