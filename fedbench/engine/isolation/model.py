"""A model whose module runs in another process. To the trainer it is a module like any other; what
it gives comes from there as arrays, and is checked as such."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from fedbench.engine.isolation.process import Answers, Process
from fedbench.errors import PluginError, UsageError
from fedbench.kernels.random import RandomStream
from fedbench.tasks import layers
from fedbench.tasks.layers import Layer
from fedbench.tasks.models import laid_out
from fedbench.tasks.own_model import Description
from fedbench.tasks.tensors import Shape, Tensor
from fedbench.tasks.torch_model import Maskable, Words, changing_buffers, trained
from fedbench.types import Array, Vector

LAYERS: tuple[type[Layer], ...] = (
    *(layers.Linear, layers.Conv2d, layers.MaxPool2d, layers.AvgPool2d, layers.BatchNorm2d, layers.ReLU, layers.Flatten),
    *(layers.Dropout, layers.Dropout2d),
)
"""The layers that the other process may name."""
MOST_NUMBERS = 1 << 27  # of all parameters, of all buffers, or of the masks of a layer


class There:
    """Has a Process make the modules of a model. It answers one question at a time."""

    def __init__(self, process: Process, lock: threading.Lock, name: str, shape: Shape, classes: int) -> None:
        self._process, self._lock, self.name, self.classes = process, lock, name, classes
        self._source = self.asked("make", name, shape, classes)
        self._described: Description | None = None

    def asked(self, method: str, *arguments: object, answers: Answers | None = None) -> Any:
        with self._lock:
            return self._process.call(method, *arguments, answers=answers)

    def refused(self, what: str) -> PluginError:
        return PluginError(f"model {self.name}: its process gives no {what} that can be used")

    def array(self, what: str, found: object, shape: tuple[int, ...], dtype: str = "float32") -> Array:
        """Returns what the process gave if it is an array of this shape and dtype."""
        if not isinstance(found, np.ndarray) or found.shape != shape or found.dtype != dtype:
            raise self.refused(what)
        return found

    def described(self) -> Description:
        if self._described is None:
            found = self.asked("described", self._source)
            try:
                named = None if found["layers"] is None else tuple(_layer(*one) for one in found["layers"])
                parameters, buffers = (tuple(laid_out(map(_tensor, found[kind]))) for kind in ("parameters", "buffers"))
                self._described = Description(parameters, buffers, named, str(found["why"])[:500], found["is_default"] is True)
            except (TypeError, ValueError, KeyError, UsageError) as error:
                raise self.refused("description") from error
            if max(map(_size, self._described[:2])) > MOST_NUMBERS:
                raise self.refused(f"description of at most {MOST_NUMBERS:,} numbers")
        return self._described

    def values(self, seed: int) -> tuple[Vector, Vector]:
        found = self.asked("values", self._source, seed)
        if not isinstance(found, list) or len(found) != 2:
            raise self.refused("initial values")
        parameters, buffers, *_ = self.described()
        x, m = (self.array("initial values", one, (_size(part),)) for one, part in zip(found, (parameters, buffers), strict=True))
        return x, m

    def module(self, dtype: torch.dtype) -> Remote:
        return Remote(self, self.asked("module", self._source, str(dtype).removeprefix("torch.")), dtype)


def _size(tensors: tuple[Tensor, ...]) -> int:
    return sum(one.size for one in tensors)


def _tensor(said: Any) -> Tensor:
    name, shape = said
    if not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError(shape)
    return Tensor(str(name)[:200], tuple(shape))


def _layer(name: str, fields: dict[str, Any]) -> Layer:
    (kind,) = (one for one in LAYERS if one.__name__ == name)
    if not all(isinstance(value, bool | int | float) for value in fields.values()):
        raise ValueError(fields)
    return kind(**fields)


class Remote(Maskable):
    """A module of the other process: parameters and buffers are here, and are sent with every
    batch."""

    def __init__(self, there: There, number: object, dtype: torch.dtype) -> None:
        super().__init__()
        self._there, self._number, self.real = there, number, dtype
        parameters, buffers, *_ = there.described()
        self.values = torch.nn.ParameterList(torch.zeros(one.shape, dtype=dtype) for one in parameters)
        for place, one in enumerate(buffers):
            self.register_buffer(f"buffer{place}", torch.zeros(one.shape, dtype=dtype))
        self._words: Callable[[int], Array] | None = None

    def set_masks(self, masks: Words | None) -> None:
        self._words = masks.words if isinstance(masks, RandomStream) else None

    def _drawn(self, count: object) -> Array:
        if self._words is None or not isinstance(count, int) or not 0 <= count <= MOST_NUMBERS:
            raise ValueError(f"words: expected at most {MOST_NUMBERS:,} in training, got {count!r:.40}")
        return self._words(count)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = _Call.apply(self, x, *self.values)
        return logits

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        """Returns the logits of a batch, and keeps the buffers that are then there."""
        there, buffers = self._there, [one for _, _, one in changing_buffers(self)]
        sent = [_flat(list(self.values), self.real), _flat(buffers, self.real), x.contiguous().numpy()]
        found = there.asked("forward", self._number, *sent, self.training, answers={"words": self._drawn})
        if not isinstance(found, list) or len(found) != 2:
            raise there.refused("logits")
        left = torch.from_numpy(there.array("buffers", found[1], sent[1].shape, sent[1].dtype.name))
        for one, values in zip(buffers, torch.split(left, [one.numel() for one in buffers]), strict=True):
            one.copy_(values.view(one.shape))
        return torch.from_numpy(there.array("logits", found[0], (len(x), there.classes), sent[0].dtype.name))

    def gradients(self, slopes: torch.Tensor) -> list[torch.Tensor]:
        """Returns the gradients of the parameters for these slopes (b, classes) of the logits."""
        found = self._there.asked("backward", self._number, slopes.contiguous().numpy())
        sizes, like = [one.numel() for one in trained(self)], np.empty(0, slopes.numpy().dtype)
        flat = torch.from_numpy(self._there.array("gradient", found, (sum(sizes),), like.dtype.name))
        return [part.view(one.shape) for part, one in zip(torch.split(flat, sizes), self.values, strict=True)]


def _flat(several: list[torch.Tensor], dtype: torch.dtype) -> Vector:
    """Returns tensors one after the other as a vector, also none."""
    parts = [torch.zeros(0, dtype=dtype), *(one.detach().reshape(-1) for one in several)]
    return torch.cat(parts).numpy()


class _Call(torch.autograd.Function):
    """Joins forward and backward passes of the other process to the graph of this one."""

    @staticmethod
    def forward(ctx: Any, module: Remote, x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        ctx.module = module
        return module.logits(x)

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return (None, None, *ctx.module.gradients(slopes[0]))
