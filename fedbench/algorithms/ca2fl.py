"""CA2FL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Buffered, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, ServerMemory, State, Vector


@dataclass(frozen=True, kw_only=True)
class CA2FL(Buffered):
    """Cached calibration: buffered asynchronous aggregation that adds what the clients outside the
    buffer sent last.

        v = h + (1/M) sum (Delta_i - h_i);   x <- x + server_lr * v,   M = buffer_size, h and h_i those before this buffer
        then h_i <- newest Delta_i of every client that arrived;   h = (1/N) sum h_i

    All h_i start at 0, so the first buffer is FedBuff's.

    Source: Wang et al. 2024 (CA2FL), after two public codes that agree and the description of Wang
    et al. 2025. Not copied: codes that refresh the caches before h is taken; that is ACE.
    """

    name = "ca2fl"
    full_name = "CA2FL"
    source = cited(wang2024ca2fl="after public code")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    cache: Literal["deferred", "immediate"] = option(
        "deferred",
        "What the second arrival of a client in one buffer subtracts: the h_i from before the buffer (deferred), or the first "
        "arrival's Delta (immediate).",
    )
    h_norm: Literal["all", "seen"] = option(
        "all",
        "The clients that h is the mean of: all N, or those that have arrived so far (seen), of which there are none at first.",
    )

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=1, per_client=1)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, h_i=ClientTable(tools.info.clients, np.zeros_like(x0)))

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        M, N = len(batch.clients), self.averaged_over(state.h_i)
        v = k.calibrated_mean(state.h_i, batch.clients, batch.delta, np.full(M, 1.0 / M), divisor=N, cache=self.cache)
        state.x = state.x + self.server_lr * v

    def averaged_over(self, h_i: ClientTable) -> int:
        """Returns the number of clients of which h is the mean."""
        return h_i.clients if self.h_norm == "all" else max(1, h_i.count)

    def h(self, state: State) -> Vector:
        """Returns the calibration h that the next step adds."""
        return np.asarray(state.h_i.total / self.averaged_over(state.h_i), state.x.dtype)
