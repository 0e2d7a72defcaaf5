"""FedYogi."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import BelowOne, NonNegative, Positive, RepeatingCohort, Tools, option
from fedbench.types import Batch, Info, ServerMemory, State, Vector

PAPER = "Reddi et al. 2021"


@dataclass(frozen=True, kw_only=True)
class FedYogi(RepeatingCohort):
    """The mean progress of a round as the gradient of an adaptive server, whose second moment moves
    by at most (1 - beta2) D^2, up or down.

        D = (1/|S|) sum_S Delta_i;   m <- beta1 m + (1 - beta1) D;   v <- v - (1 - beta2) D^2 sign(v - D^2)
        x <- x + server_lr * m / (sqrt(v) + eps)

    Source: Reddi et al. 2021, Alg. 2 (FedYogi, with its tau as eps), without bias correction.
    """

    name = "fedyogi"
    full_name = "FedYogi"
    source = cited(reddi2021="Alg. 2")

    server_lr: Positive = option(0.01, "The server's learning rate.", "that of fedadam; the paper tunes it for every task")
    beta1: BelowOne = option(0.9, "Decay of the first moment m.", PAPER)
    beta2: BelowOne = option(0.99, "How slowly the second moment v follows D^2.", PAPER)
    eps: NonNegative = option(1e-3, "What is added to the root of the second moment (the paper's tau).", PAPER)
    init_moment: Literal["zero", "eps2"] = option("eps2", "Where v starts: at 0 (zero), or at eps^2 (eps2).", PAPER)

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=3)

    def init(self, x0: Vector, tools: Tools) -> State:
        v = np.full_like(x0, self.eps**2 if self.init_moment == "eps2" else 0.0)
        return State(x=x0.copy(), m=np.zeros_like(x0), v=v)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        share = self.entry_weights(batch, tools.info)
        rule = k.AdamRule(self.server_lr, self.beta1, self.beta2, self.eps, bias_correction=False, second="yogi")
        k.sum_adaptive_step(state.x, state.m, state.v, None, share, batch.delta, rule, use_maximum=False)
