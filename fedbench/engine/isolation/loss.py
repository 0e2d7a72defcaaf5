"""A loss whose code runs in another process. What it gives comes from there as arrays, and is
checked as such."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import torch

from fedbench.engine.isolation.process import Process
from fedbench.errors import PluginError


class There:
    """Has a Process compute a loss and its slopes. It answers one question at a time."""

    def __init__(self, process: Process) -> None:
        self._process, self._lock = process, threading.Lock()

    def mean(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = _Call.apply(self, outputs, labels)
        return found

    def terms(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self.each(outputs, labels)

    def each(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        (found,) = self.asked("each", outputs, labels, (len(labels),))
        return found

    def asked(self, method: str, outputs: torch.Tensor, labels: torch.Tensor, *shapes: tuple[int, ...]) -> list[torch.Tensor]:
        """Returns what the process gave, if that is arrays of these shapes."""
        sent = outputs.detach().contiguous().numpy()
        with self._lock:
            found = self._process.call(method, sent, labels.contiguous().numpy())
        if not isinstance(found, list) or len(found) != len(shapes):
            raise self._refused()
        for one, shape in zip(found, shapes, strict=True):
            if not isinstance(one, np.ndarray) or one.shape != shape or one.dtype != sent.dtype:
                raise self._refused()
        return [torch.from_numpy(one) for one in found]

    def _refused(self) -> PluginError:
        return PluginError(f"{self._process.name}: its process gives no loss that can be used")


class _Call(torch.autograd.Function):
    """Joins the slopes of the other process to the graph of this one."""

    @staticmethod
    def forward(ctx: Any, there: There, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        value, ctx.slopes = there.asked("mean", outputs, labels, (1,), tuple(outputs.shape))
        return value[0]

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return None, slopes[0] * ctx.slopes, None
