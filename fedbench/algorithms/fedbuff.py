"""FedBuff."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Buffered, Positive, Tools, option
from fedbench.types import Batch, Info, State, Stream, Weights


@dataclass(frozen=True, kw_only=True)
class FedBuff(Buffered):
    """Buffered asynchronous aggregation: every `buffer_size` arrivals, the mean of their progress.

        x <- x + server_lr * (1/M) sum s(tau) Delta,   M = buffer_size

    Source: Nguyen et al. 2022, Alg. 1; Toghani and Uribe 2022, Alg. 1-2 with beta = server_lr / M.
    Wang et al. 2025, Alg. 1, print it with dispatch_before_update.
    """

    name = "fedbuff"
    full_name = "FedBuff"
    source = cited(nguyen2022="Alg. 1", toghani2022="Alg. 1-2")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    scaling: Literal["none", "sqrt"] = option(
        "none", "The weight s of an arrival of staleness tau: 1 (none), or (1 + tau)^(-1/2), not renormalised (sqrt)."
    )
    dispatch_before_update: bool = option(
        False, "Whether the client that replaces a buffer's last arrival starts from the model before the update, or after it."
    )

    def dispatch(self, info: Info) -> Stream:
        order: Literal["before_update", "after_update"] = "before_update" if self.dispatch_before_update else "after_update"
        return dataclasses.replace(super().dispatch(info), order=order)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.weighted_sum(self.entry_weights(batch, tools.info), batch.delta)

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        s = k.staleness_weight("poly" if self.scaling == "sqrt" else "constant", batch.staleness, a=0.5)
        return s / len(s)
