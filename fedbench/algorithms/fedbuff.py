"""FedBuff."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from fedbench import kernels as k
from fedbench.protocols import Buffered, Positive, Tools
from fedbench.types import Batch, Info, State, Stream


@dataclass(frozen=True, kw_only=True)
class FedBuff(Buffered):
    """Buffered asynchronous aggregation: every `buffer_size` arrivals, the mean of their progress.

        x <- x + server_lr * (1/M) sum s(tau) Delta,   M = buffer_size

    scaling: none s = 1; sqrt s = (1 + tau)^(-1/2), not renormalised. `concurrency` None: all clients work. An arrived client is
    replaced by a uniformly drawn idle one (restart resample) or by itself (self). `dispatch_before_update` gives the M-th
    replacement of a buffer the old model, as [004] Alg. 1 prints; the default gives it the new one.

    Source: Nguyen et al., AISTATS 2022, Algorithm 1; [002] Alg. 1-2 with beta = server_lr / M.
    """

    name = "fedbuff"
    source = "Nguyen et al. 2022, Alg. 1; FedBuff analysis paper, Alg. 1-2"

    server_lr: Positive = 1.0
    scaling: Literal["none", "sqrt"] = "none"
    dispatch_before_update: bool = False

    def dispatch(self, info: Info) -> Stream:
        order: Literal["before_update", "after_update"] = "before_update" if self.dispatch_before_update else "after_update"
        return dataclasses.replace(super().dispatch(info), order=order)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        s = k.staleness_weight("poly" if self.scaling == "sqrt" else "constant", batch.staleness, a=0.5)
        state.x = state.x + self.server_lr * k.weighted_sum(s / len(s), batch.delta)
