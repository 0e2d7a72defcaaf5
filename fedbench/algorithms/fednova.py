"""FedNova."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.algorithms.fedavg import FedAvg
from fedbench.bibliography import cited
from fedbench.errors import UsageError
from fedbench.protocols import NonNegative, Positive, Tools, option
from fedbench.types import Batch, Job, LocalRule, Message, State, Vector, Weights


@dataclass(frozen=True, kw_only=True)
class FedNova(FedAvg):
    """Normalised averaging: clients that did more local steps do not count more for it.

        client: y <- y - local_lr * (u + prox * (y - x)),  u <- momentum * u + g(y)
        server: d_i = -Delta_i / (local_lr |a_i|_1);   x <- x - server_lr * tau_eff * local_lr * sum_S q_i d_i

    |a_i|_1, the sum of the weights with which the gradients of a run enter Delta_i / -local_lr:
        K_i for plain SGD;   [K - momentum (1 - momentum^K) / (1 - momentum)] / (1 - momentum) with momentum alone;
        [1 - (1 - local_lr prox)^K] / (local_lr prox) with prox alone. Weight decay is part of the gradient.

    Local adamw is refused, since its a_i is not defined, and so is local_lr prox > 1, where weights
    of gradients turn negative.

    Source: Wang et al. 2020, eq. (5)-(8) and section 4.
    """

    name = "fednova"
    full_name = "FedNova"
    source = cited(wang2020="eq. (5)-(8)")

    weights: Literal["uniform", "p_normalised", "p"] = option(
        "uniform", "The weights q_i: 1/|S| (uniform), p_i / sum_S p_j (p_normalised), or p_i (p, which needs everybody)."
    )
    tau_eff: Literal["mean", "min", "max"] | Positive = option(
        "mean",
        "The server's number of steps: sum_S q_i |a_i|_1 (mean), the min or max of |a_i|_1 over S, or a number.",
        "Wang et al. 2020",
    )
    prox: NonNegative = option(0.0, "Strength of the pull towards the model that the client received.", "0 is none")

    weighs_steps = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.optimizer != "sgd":
            raise UsageError(f"fednova: optimizer must be 'sgd', whose steps can be normalised, got {self.optimizer!r}")
        if self.local_lr * self.prox > 1:
            raise UsageError(f"fednova: local_lr * prox must be <= 1, got {self.local_lr:g} * {self.prox:g}")

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(message.x, prox=self.prox)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        q = self.entry_weights(batch, tools.info)
        a = np.array([self.gradient_weight(steps) for steps in batch.steps.tolist()])
        per_step = self.effective_steps(q, a) * q / np.maximum(a, 1.0)  # a < 1 only for jobs without a step, whose Delta is 0
        state.x = state.x + self.server_lr * k.weighted_sum(per_step, batch.delta)

    def effective_steps(self, q: Weights, a: Weights) -> float:
        """Returns tau_eff."""
        if isinstance(self.tau_eff, float):
            return self.tau_eff
        w = q * a
        return float({"mean": w.sum(), "min": a.min(), "max": a.max()}[self.tau_eff])

    def gradient_weight(self, steps: int) -> float:
        """Returns |a|_1 of a run. Every step gives its gradient the weight 1, now and through the
        momentum in all later steps; prox shrinks what was gathered before."""
        total = u = 0.0
        for _ in range(steps):
            u = self.momentum * u + 1.0
            total = (1.0 - self.local_lr * self.prox) * total + u
        return total
