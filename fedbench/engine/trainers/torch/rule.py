"""Turns gradients into steps as a LocalRule says, on tensors."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Protocol, TypeVarTuple

import numpy as np
import torch

from fedbench.engine.trainers.torch.data import answer, copied, load
from fedbench.errors import UsageError
from fedbench.scenarios.local_parts import LocalPart
from fedbench.types import Array, LocalRule

Batch = TypeVarTuple("Batch")
ADAM_BETA1, ADAM_BETA2, ADAM_EPS = 0.9, 0.999, 1e-8
BY_PRODUCTS = ("first_gradient", "mean_gradient")


def is_plain(rule: LocalRule, local: LocalPart) -> bool:
    """Tells whether a step is y <- y - lr * (g + weight_decay * y) and no gradient is wanted. Then
    no gradient needs to be a flat vector."""
    if local.step_rule or local.clip_norm is not None or local.steps_differ:
        return False
    if rule.optimizer != "sgd" or rule.momentum or rule.prox or rule.correction is not None or rule.anchor is not None:
        return False
    return not set(BY_PRODUCTS).intersection(rule.wants)


class Differentiable(Protocol[*Batch]):
    """A model, or several stacked, whose parameters `flat` (.., d) and `buffers` (.., m) change in
    place."""

    @property
    def flat(self) -> torch.Tensor: ...

    @property
    def buffers(self) -> torch.Tensor: ...

    def backward(self, *batch: *Batch) -> torch.Tensor:
        """Returns the gradient (.., d) on a batch, valid until the next call. The buffers change as
        in a step of training."""


class Direction:
    """Computes the gradient h and the direction of every step of a job. It holds the optimiser's
    state, and what the rule wants to see of h.

    If the vectors of the rule are stacked (lanes, d), each lane a job, so are the directions.
    """

    def __init__(self, rule: LocalRule, local: LocalPart, device: torch.device | None = None) -> None:
        """`local` has the norm that bounds every mini-batch's gradient, and the momentum.
        UsageError if both it and the rule say what takes the place of plain SGD."""
        if rule.optimizer == "adamw" and rule.momentum:
            raise UsageError(f"momentum: adamw has its own, expected 0, got {rule.momentum}")
        if local.step_rule and (rule.optimizer != "sgd" or rule.momentum):
            raise UsageError(
                f"{local.step_rule}: takes the place of plain SGD, got a local rule with optimizer {rule.optimizer} and momentum "
                f"{rule.momentum:g}"
            )
        self.rule, self.clip_norm = rule, local.clip_norm
        self.momentum, self.nesterov = local.momentum or rule.momentum, local.nesterov
        self.start = None if not rule.prox else copied(rule.start, device)
        self.correction = None if rule.correction is None else copied(rule.correction, device)
        self.anchor = None if rule.anchor is None else copied(rule.anchor, device)
        self.u: torch.Tensor | None = None
        self.moments: list[torch.Tensor] | None = None  # the moments of adamw, and two vectors of scratch memory
        self.count = 0
        self.first: torch.Tensor | None = None
        self.total: torch.Tensor | None = None
        self.corrections: Sequence[torch.Tensor] | None = None

    def gradient(self, model: Differentiable[*Batch], *batch: *Batch) -> torch.Tensor:
        """Returns h = g(y) - g(anchor) + weight_decay * y on one mini-batch, valid until the next
        call. The buffers are those that the forward at y leaves."""
        rule, y, h = self.rule, model.flat, self._clipped(model.backward(*batch))
        if self.anchor is not None:
            at_y, here, buffers = h.clone(), y.clone(), model.buffers.clone()
            y.copy_(self.anchor)
            h = at_y - self._clipped(model.backward(*batch))
            y.copy_(here)
            model.buffers.copy_(buffers)
        if rule.weight_decay and rule.optimizer == "sgd":
            h.add_(y, alpha=rule.weight_decay)
        if "first_gradient" in rule.wants and self.first is None:
            self.first = h.clone()
        if "mean_gradient" in rule.wants:
            self.total = h.clone() if self.total is None else self.total.add_(h)
        return h

    def _clipped(self, gradient: torch.Tensor) -> torch.Tensor:
        if self.clip_norm is None:
            return gradient
        norm = torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)
        return torch.where(norm > self.clip_norm, gradient * (self.clip_norm / norm), gradient)

    def __call__(self, h: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        rule = self.rule
        direction = self._adamw(h, y) if rule.optimizer == "adamw" else self._momentum(h)
        if self.start is not None and rule.prox_form == "l2":
            direction = direction + rule.prox * (y - self.start)
        elif self.start is not None:
            away = y - self.start
            direction = direction + 2 * rule.prox * away.abs().sum(-1, keepdim=True) * away.sign()
        return direction if self.correction is None else direction + self.correction

    def _momentum(self, h: torch.Tensor) -> torch.Tensor:
        """Returns u <- momentum u + h or, in Nesterov's form, h + momentum u."""
        if not self.momentum:
            return h
        self.u = h.clone() if self.u is None else self.u.mul_(self.momentum).add_(h)
        return torch.add(h, self.u, alpha=self.momentum) if self.nesterov else self.u

    def _adamw(self, h: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Returns the direction u' / (sqrt(v') + eps) + weight_decay y.

            u <- b1 u + (1 - b1) h;   u' = u / (1 - b1^t)
            v <- b2 v + (1 - b2) h h;   v' = v / (1 - b2^t)

        It works in place, with the same roundings: fresh vectors of a large model cost more than
        the arithmetic. The numbers 1 - b^t may be given, as tensors in `corrections`.
        """
        self.count += 1
        of_u, of_v = self.corrections or (1 - ADAM_BETA1**self.count, 1 - ADAM_BETA2**self.count)
        self.moments = self.moments or [torch.zeros_like(h) for _ in range(4)]
        u, v, first, second = self.moments
        u.mul_(ADAM_BETA1).add_(torch.mul(h, 1 - ADAM_BETA1, out=first))
        v.mul_(ADAM_BETA2).add_(torch.mul(h, 1 - ADAM_BETA2, out=first).mul_(h))
        scale = torch.div(v, of_v, out=second).sqrt_().add_(ADAM_EPS)
        direction = torch.div(u, of_u, out=first).div_(scale)
        return direction.add_(torch.mul(y, self.rule.weight_decay, out=second))

    def by_products(self, steps: int, start: Array, lane: int | EllipsisType = ...) -> dict[str, Array]:
        """Returns the gradients (d,) that the rule wants of a job, after so many steps from
        `start`, and lying where that does. If they are stacked, `lane` says of which job."""
        wanted: dict[str, Array] = {}
        for name, value, count in zip(BY_PRODUCTS, (self.first, self.total), (1, steps), strict=True):
            if name in self.rule.wants:
                wanted[name] = np.zeros_like(start) if value is None or not steps else answer(value[lane] / count, start)
        return wanted


class Directions(Direction):
    """Those of stacked jobs, each of which begins when its lane is free. What is summed is zero
    where a job begins, so its first step is a step as any other."""

    def __init__(self, rule: LocalRule, local: LocalPart, flat: torch.Tensor, age: torch.Tensor) -> None:
        """`flat` has the models (lanes, d), and `age` the number of a lane's step among those of
        its job (lanes, 1), from 1 on."""
        super().__init__(rule, local, flat.device)
        self.age = age
        self.u = torch.zeros_like(flat) if self.momentum else None
        self.moments = [torch.zeros_like(flat) for _ in range(4)] if rule.optimizer == "adamw" else None
        self.first, self.total = (torch.zeros_like(flat) if name in rule.wants else None for name in BY_PRODUCTS)

    def restart(self, rule: LocalRule, lane: int | EllipsisType = ...) -> None:
        """Begins with another job in a lane, or with other jobs in all of them, whose rule has this
        form."""
        for kept, vector in ((self.start, rule.start), (self.correction, rule.correction), (self.anchor, rule.anchor)):
            if kept is not None and vector is not None:
                load(kept[lane], vector)
        for kept in (self.u, self.total, *(self.moments or ())[:2]):
            if kept is not None:
                kept[lane].zero_()

    def gradient(self, model: Differentiable[*Batch], *batch: *Batch) -> torch.Tensor:
        h = super().gradient(model, *batch)
        if self.first is not None:
            torch.where(self.age == 1, h, self.first, out=self.first)
        return h
