"""The process that runs a model of somebody's and nothing else: it makes modules, and answers which
logits and gradients they give. It gets features, and never labels."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fedbench.engine.isolation.child import Asking, main
from fedbench.engine.isolation.imports import code_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    from fedbench.tasks.own_module import Here, OwnModule
    from fedbench.types import Array, Vector


class ServedModel(Asking):
    """A model and its modules, each of which is a replica of one worker on the other side."""

    def load(self, given: list[str | None], path: list[str]) -> None:
        """Takes the fields of the code's `Named`, with the import path of the other side."""
        import torch

        torch.set_num_threads(1)
        self._factory = code_of(given, path).found()
        self._sources: list[Here] = []
        self._modules: list[Replica] = []

    def make(self, name: str, shape: tuple[int, ...], classes: int) -> int:
        """Returns the number of a new source."""
        from fedbench.tasks.own_module import Here

        self._sources.append(Here(self._factory, name, tuple(shape), classes))
        return len(self._sources) - 1

    def described(self, source: int) -> dict[str, object]:
        """Returns the Description as lists."""
        found = self._sources[source].described()
        layers = None
        if found.layers is not None:
            layers = [
                [type(one).__name__, {f.name: getattr(one, f.name) for f in dataclasses.fields(one)}] for one in found.layers
            ]
        return {
            "parameters": [[one.name, one.shape] for one in found.parameters],
            "buffers": [[one.name, one.shape] for one in found.buffers],
            "layers": layers,
            "why": found.why,
            "is_default": found.is_default,
        }

    def values(self, source: int, seed: int) -> list[Vector]:
        """Returns the initial parameters and buffers."""
        return list(self._sources[source].values(seed))

    def module(self, source: int, dtype: str) -> int:
        """Returns the number of a new module."""
        import torch

        self._modules.append(Replica(self._sources[source].module(getattr(torch, dtype))))
        return len(self._modules) - 1

    def forward(self, module: int, x: Vector, buffers: Vector, features: Array, training: bool) -> list[Array]:
        """Returns the logits of a batch at these parameters and buffers, and the buffers that are
        then there. With masks, words are asked for."""
        replica = self._modules[module]
        replica.load(x, buffers)
        replica.module.train(training)
        replica.module.set_masks(_Words(self))
        return [replica.forward(features), replica.buffers.numpy()]

    def backward(self, module: int, slopes: Array) -> Vector:
        """Returns the gradient (d,) of a sum of the last logits, weighted by `slopes`."""
        return self._modules[module].backward(slopes)


class Replica:
    """A module whose parameters and buffers are views of flat vectors."""

    def __init__(self, module: OwnModule) -> None:
        import torch

        from fedbench.tasks.torch_model import changing_buffers, flatten_buffers, flatten_parameters, trained

        real = next(one.dtype for one in trained(module))
        self.module = module
        self.flat = torch.zeros(sum(one.numel() for one in trained(module)), dtype=real)
        self.buffers = torch.zeros(sum(one.numel() for _, _, one in changing_buffers(module)), dtype=real)
        flatten_parameters(module, self.flat)
        flatten_buffers(module, self.buffers)
        self.parameters = trained(module)
        self.logits: torch.Tensor | None = None

    def load(self, x: Vector, buffers: Vector) -> None:
        self.flat.numpy()[:] = x
        self.buffers.numpy()[:] = buffers

    def forward(self, features: Array) -> Array:
        import torch

        self.logits = self.module(torch.from_numpy(features))
        return self.logits.detach().numpy()

    def backward(self, slopes: Array) -> Vector:
        import torch

        assert self.logits is not None
        gradients = torch.autograd.grad(self.logits, list(self.parameters), torch.from_numpy(slopes))
        return torch.cat([one.reshape(-1) for one in gradients]).numpy()


class _Words:
    """A stream of words of the other side."""

    def __init__(self, served: ServedModel) -> None:
        self._served = served

    def words(self, count: int) -> npt.NDArray[np.uint32]:
        found: npt.NDArray[np.uint32] = self._served._ask("words", count)
        return found


if __name__ == "__main__":
    main(ServedModel)
