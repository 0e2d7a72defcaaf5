"""FADAS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.protocols import BelowOne, Buffered, Count, NonNegative, Positive, Tools
from fedbench.types import Batch, Info, ServerMemory, State, Vector


@dataclass(frozen=True, kw_only=True)
class FADAS(Buffered):
    """Buffered asynchronous aggregation with an AMSGrad step at the server, whose rate may shrink with the staleness.

        D = (1/M) sum Delta;   m <- beta1 m + (1 - beta1) D;   v <- beta2 v + (1 - beta2) D^2;   vhat <- max(vhat, v)
        x <- x + rate * (m / (1 - beta1^t)) / (sqrt(vhat) / sqrt(1 - beta2^t) + eps),   t = updates, from 1;   M = buffer_size

    bias_correction False: both divisors are 1, as the paper prints it. amsgrad False: v instead of vhat.
    delay_adaptive: rate = server_lr while the largest tau of the buffer, tmax, is at most `delay_threshold`; beyond it, shrink: code
    server_lr / tmax; paper_min min(server_lr, 1 / tmax), which hardly ever binds. The authors use server_lr 1e-3 with it, and 1e-4
    without. repo_delta_base: Delta + x^base - x for Delta, as the authors' code has it where it measures progress from a version
    later than the one that the client started from. `concurrency` and `restart` as in FedBuff.

    Source: Wang et al., ICML 2024 (FADAS), Algorithm 1, and the authors' code.
    """

    name = "fadas"
    source = "Wang et al. 2024, Alg. 1, and the authors' code"

    server_lr: Positive = 1e-4
    buffer_size: Count = 5
    beta1: BelowOne = 0.9
    beta2: BelowOne = 0.99
    eps: NonNegative = 1e-8
    amsgrad: bool = True
    bias_correction: bool = True
    delay_adaptive: bool = False
    delay_threshold: NonNegative = 1.0
    shrink: Literal["code", "paper_min"] = "code"
    repo_delta_base: bool = False

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=4, per_version=int(self.repo_delta_base))

    def init(self, x0: Vector, tools: Tools) -> State:
        zero = np.zeros_like(x0)
        return State(x=x0, m=zero, v=zero.copy(), vhat=zero.copy())

    def rate(self, tmax: int) -> float:
        """The server's rate for a buffer whose largest staleness is `tmax`."""
        if not self.delay_adaptive or tmax <= self.delay_threshold:
            return self.server_lr
        return self.server_lr / tmax if self.shrink == "code" else min(self.server_lr, 1 / tmax)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        M, delta = len(batch.clients), batch.delta
        if self.repo_delta_base:
            delta = np.stack([row + batch.base_x(i) - state.x for i, row in enumerate(delta)])
        rule = k.AdamRule(
            self.rate(int(batch.staleness.max())), self.beta1, self.beta2, self.eps, self.bias_correction, step=batch.version + 1
        )
        k.sum_adaptive_step(state.x, state.m, state.v, state.vhat, np.full(M, 1.0 / M), delta, rule, use_maximum=self.amsgrad)
