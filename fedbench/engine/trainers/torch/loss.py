"""Losses on tensors: what local training minimises, and what evaluation states of a model."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from fedbench.engine.trainers.base import Workload
from fedbench.own_losses import Loss, made


class CrossEntropy:
    """The cross-entropy. In training its targets are smoothed, in evaluation they are not."""

    def __init__(self, smoothing: float = 0.0) -> None:
        self.smoothing = smoothing

    def mean(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(outputs, labels, label_smoothing=self.smoothing)

    def terms(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(outputs, labels, reduction="none", label_smoothing=self.smoothing)

    def each(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(outputs, labels, reduction="none")

    def slopes(self, labels: torch.Tensor, classes: int, weights: torch.Tensor) -> torch.Tensor:
        """Returns the slopes (.., classes, b) of `terms` times their weights (.., b), at the
        logarithms of the probabilities: those depend on the labels (.., b) alone."""
        marks = (labels[..., None, :] == torch.arange(classes, device=labels.device)[:, None]).to(weights.dtype)
        return (marks * (self.smoothing - 1) - self.smoothing / classes) * weights[..., None, :]


class SquaredError:
    """The squared error of the one output of a model."""

    def mean(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self.each(outputs, labels).mean()

    def terms(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self.each(outputs, labels)

    def each(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return (outputs.squeeze(1) - labels) ** 2


def loss_of(workload: Workload) -> Loss:
    """Returns the loss of a workload. OriginError if it is the user's own who has not named it."""
    if workload.loss is not None:
        return made(*workload.loss)
    if workload.task.dataset.train.numbers is not None:
        return SquaredError()
    return CrossEntropy(0.0 if workload.local is None else workload.local.label_smoothing)
