"""FedAdam and FedAMSGrad."""

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
class FedAdam(RepeatingCohort):
    """The mean progress of a round as the gradient of an adaptive server.

        D = (1/|S|) sum_S Delta_i;   m <- beta1 m + (1 - beta1) D;   v <- beta2 v + (1 - beta2) D^2
        x <- x + server_lr * m / (sqrt(u) + eps),   u = v; with `amsgrad` vhat <- max(vhat, v), u = vhat

    Source: Reddi et al. 2021, Alg. 2 (FedAdam, with its tau as eps). The maximum is that of
    AMSGrad. Bias correction is not in the paper; the code of FADAS has it.
    """

    name = "fedadam"
    full_name = "FedAdam"
    source = cited(reddi2021="Alg. 2")

    server_lr: Positive = option(0.01, "The server's learning rate.", "ours; the paper tunes it for every task")
    beta1: BelowOne = option(0.9, "Decay of the first moment m.", PAPER)
    beta2: BelowOne = option(0.99, "Decay of the second moment v.", PAPER)
    eps: NonNegative = option(1e-3, "What is added to the root of the second moment (the paper's tau).", PAPER)
    amsgrad: bool = option(False, "Whether the largest second moment so far (vhat) divides, or the present one (v).")
    bias_correction: bool = option(
        False, "Whether m is divided by 1 - beta1^t and the root by sqrt(1 - beta2^t), t counting updates from 1."
    )
    init_moment: Literal["zero", "eps2"] = option("zero", "Where v and vhat start: at 0 (zero), or at eps^2 (eps2).")

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=4 if self.amsgrad else 3)

    def init(self, x0: Vector, tools: Tools) -> State:
        v = np.full_like(x0, self.eps**2 if self.init_moment == "eps2" else 0.0)
        maximum = {"vhat": v.copy()} if self.amsgrad else {}
        return State(x=x0.copy(), m=np.zeros_like(x0), v=v, **maximum)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        share = self.entry_weights(batch, tools.info)
        rule = k.AdamRule(
            self.server_lr, self.beta1, self.beta2, self.eps, bias_correction=self.bias_correction, step=batch.version + 1
        )
        vhat = state.vhat if self.amsgrad else None
        k.sum_adaptive_step(state.x, state.m, state.v, vhat, share, batch.delta, rule, use_maximum=self.amsgrad)
