"""What a LocalRule makes of gradients, on tensors."""

from __future__ import annotations

import torch

from fedbench.errors import UsageError
from fedbench.types import LocalRule

ADAM_BETA1, ADAM_BETA2, ADAM_EPS = 0.9, 0.999, 1e-8


def is_plain(rule: LocalRule) -> bool:
    """Is a step y <- y - lr * (g + weight_decay * y), and nobody wants to see a gradient? Then none needs to be a flat vector."""
    if rule.optimizer != "sgd" or rule.momentum or rule.prox or rule.correction is not None or rule.anchor is not None:
        return False
    return not {"first_gradient", "mean_gradient"}.intersection(rule.wants)


class Direction:
    """The direction of a step from its gradient h and the iterate y, with the optimiser's state of one job."""

    def __init__(self, rule: LocalRule) -> None:
        if rule.optimizer == "adamw" and rule.momentum:
            raise UsageError(f"momentum: adamw has its own, expected 0, got {rule.momentum}")
        self.rule = rule
        self.start = None if not rule.prox else torch.tensor(rule.start)
        self.correction = None if rule.correction is None else torch.tensor(rule.correction)
        self.u: torch.Tensor | None = None
        self.v: torch.Tensor | None = None
        self.count = 0

    def __call__(self, h: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        rule = self.rule
        direction = self._adamw(h, y) if rule.optimizer == "adamw" else self._momentum(h)
        if self.start is not None and rule.prox_form == "l2":
            direction = direction + rule.prox * (y - self.start)
        elif self.start is not None:
            away = y - self.start
            direction = direction + 2 * rule.prox * away.abs().sum() * away.sign()
        return direction if self.correction is None else direction + self.correction

    def _momentum(self, h: torch.Tensor) -> torch.Tensor:
        if not self.rule.momentum:
            return h
        self.u = h.clone() if self.u is None else self.rule.momentum * self.u + h
        return self.u

    def _adamw(self, h: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.count += 1
        u, v = (torch.zeros_like(h) if moment is None else moment for moment in (self.u, self.v))
        self.u = ADAM_BETA1 * u + (1 - ADAM_BETA1) * h
        self.v = ADAM_BETA2 * v + (1 - ADAM_BETA2) * h * h
        m = self.u / (1 - ADAM_BETA1**self.count)
        return m / ((self.v / (1 - ADAM_BETA2**self.count)).sqrt() + ADAM_EPS) + self.rule.weight_decay * y
