"""FADAS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import BelowOne, Buffered, NonNegative, Positive, Tools, option
from fedbench.types import Batch, Info, ServerMemory, State, Vector

RESNET18_RATE = 1e-4  # the server's rate in the authors' code
CODE = "the authors' code"


@dataclass(frozen=True, kw_only=True)
class FADAS(Buffered):
    """Buffered asynchronous aggregation with an AMSGrad step at the server, whose rate may shrink
    with the staleness.

        D = (1/M) sum Delta;   m <- beta1 m + (1 - beta1) D;   v <- beta2 v + (1 - beta2) D^2;   vhat <- max(vhat, v)
        x <- x + rate * (m / (1 - beta1^t)) / (sqrt(vhat) / sqrt(1 - beta2^t) + eps),   t = updates, from 1;   M = buffer_size
        rate = server_lr;   with delay_adaptive, for a largest staleness tmax of the buffer > delay_threshold:
            server_lr / tmax (shrink code),   min(server_lr, 1 / tmax) (shrink paper_min)

    The minimum of paper_min hardly ever is 1 / tmax. A step moves each of d parameters by up to
    about its rate, and so the model by up to sqrt(d) times the rate: the default rate moves every
    model as far as the authors' rate moves ResNet-18.

    Source: Wang et al. 2024 (FADAS), Alg. 1, and the authors' code.
    """

    name = "fadas"
    full_name = "FADAS"
    source = cited(wang2024fadas="Alg. 1, and the authors' code")

    server_lr: Positive | None = option(
        None,
        "The server's learning rate; none: the authors' 1e-4 for ResNet-18, times sqrt(11173962 / d) for d parameters.",
        "the authors' code for CIFAR-10, scaled to the model",
    )
    beta1: BelowOne = option(0.9, "Decay of the first moment m.", CODE)
    beta2: BelowOne = option(0.99, "Decay of the second moment v.", CODE)
    eps: NonNegative = option(1e-8, "What is added to the root of the second moment.", CODE)
    amsgrad: bool = option(True, "Whether the largest second moment so far (vhat) divides, or the present one (v).")
    bias_correction: bool = option(True, "Whether the moments are divided by 1 - beta^t; the paper prints the rule without.")
    delay_adaptive: bool = option(False, "Whether the rate shrinks for a buffer with a large staleness.")
    delay_threshold: NonNegative = option(1.0, "The largest staleness at which delay_adaptive leaves the rate as it is.", CODE)
    shrink: Literal["code", "paper_min"] = option(
        "code", "How delay_adaptive shrinks the rate: server_lr / tmax (code), or min(server_lr, 1 / tmax) (paper_min)."
    )
    repo_delta_base: bool = option(
        False,
        "Whether Delta + x^base - x takes the place of Delta, as in the authors' code where it measures progress from a version "
        "later than the client's own.",
    )

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=4, per_version=int(self.repo_delta_base))

    def init(self, x0: Vector, tools: Tools) -> State:
        zero = np.zeros_like(x0)
        return State(x=x0, m=zero, v=zero.copy(), vhat=zero.copy())

    def rate(self, tmax: int, d: int) -> float:
        """Returns the server's rate for a buffer whose largest staleness is `tmax`, on a model of d
        parameters."""
        full = k.rate_for(d, RESNET18_RATE) if self.server_lr is None else self.server_lr
        if not self.delay_adaptive or tmax <= self.delay_threshold:
            return full
        return full / tmax if self.shrink == "code" else min(full, 1 / tmax)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        M, delta = len(batch.clients), batch.delta
        if self.repo_delta_base:
            delta = np.stack([row + batch.base_x(i) - state.x for i, row in enumerate(delta)])
        rule = k.AdamRule(
            self.rate(int(batch.staleness.max()), state.x.size),
            self.beta1,
            self.beta2,
            self.eps,
            self.bias_correction,
            step=batch.version + 1,
        )
        k.sum_adaptive_step(state.x, state.m, state.v, state.vhat, np.full(M, 1.0 / M), delta, rule, use_maximum=self.amsgrad)
