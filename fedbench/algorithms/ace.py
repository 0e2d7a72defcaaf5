"""ACE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbench import kernels as k
from fedbench.protocols import Buffered, Positive, Tools
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, ServerMemory, State, Vector


@dataclass(frozen=True, kw_only=True)
class ACE(Buffered):
    """All-client engagement: every update moves the model by the mean of what all clients sent last.

        h_i <- newest Delta_i of every client that arrived;   x <- x + server_lr * (1/N) sum_{i=1..N} h_i

    MIFA run asynchronously. All h_i start at 0. `buffer_size` arrivals make an update. 1 is the rule without a buffer, under which
    every Delta counts for N updates: server_lr is then to be about N times smaller. `concurrency` and `restart` as in FedBuff.

    Source: Wang et al., asynchronous federated learning with all-client engagement (ACE); the primary text was not available.
    Public code calls this rule CA2FL.
    """

    name = "ace"
    source = "all-client engagement, after a description; no primary text"

    server_lr: Positive = 1.0

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=1, per_client=1)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, h_i=ClientTable(tools.info.clients, np.zeros_like(x0)))

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.newest_mean(state.h_i, batch.clients, batch.delta, divisor=tools.info.clients)
