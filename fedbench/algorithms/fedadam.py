"""FedAdam and FedAMSGrad."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.protocols import Algorithm, BelowOne, Count, NonNegative, Positive, Tools
from fedbench.types import Batch, Dispatch, Info, Rounds, ServerMemory, State, Vector


@dataclass(frozen=True, kw_only=True)
class FedAdam(Algorithm):
    """The mean progress of a round as the gradient of an adaptive server.

        D = (1/|S|) sum_S Delta_i;   m <- beta1 m + (1 - beta1) D;   v <- beta2 v + (1 - beta2) D^2
        x <- x + server_lr * m / (sqrt(u) + eps),   u = v; with `amsgrad` vhat <- max(vhat, v), u = vhat

    init_moment: v and vhat start at 0 (zero) or eps^2 (eps2). `bias_correction` divides m by 1 - beta1^t and sqrt(u) by
    sqrt(1 - beta2^t), t counting updates from 1, as FADAS's code does; the paper has none.

    Source: Reddi et al., ICLR 2021, Algorithm 2 (FedAdam, with its tau as eps); the maximum is that of AMSGrad.
    """

    name = "fedadam"
    source = "Reddi et al. 2021, Alg. 2"

    server_lr: Positive = 0.01
    cohort_size: Count = 10
    sampling: Literal["without_replacement", "with_replacement", "all", "weighted"] = "without_replacement"
    beta1: BelowOne = 0.9
    beta2: BelowOne = 0.99
    eps: NonNegative = 1e-3
    amsgrad: bool = False
    bias_correction: bool = False
    init_moment: Literal["zero", "eps2"] = "zero"

    def dispatch(self, info: Info) -> Dispatch:
        return Rounds(select=self.sampling, cohort_size=self.cohort_size)

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=4 if self.amsgrad else 3)

    def init(self, x0: Vector, tools: Tools) -> State:
        v = np.full_like(x0, self.eps**2 if self.init_moment == "eps2" else 0.0)
        maximum = {"vhat": v.copy()} if self.amsgrad else {}
        return State(x=x0.copy(), m=np.zeros_like(x0), v=v, **maximum)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        share = np.full(len(batch.clients), 1.0 / len(batch.clients))
        rule = k.AdamRule(
            self.server_lr, self.beta1, self.beta2, self.eps, bias_correction=self.bias_correction, step=batch.version + 1
        )
        vhat = state.vhat if self.amsgrad else None
        k.sum_adaptive_step(state.x, state.m, state.v, vhat, share, batch.delta, rule, use_maximum=self.amsgrad)
