"""FedVARP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Cohort, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, ServerMemory, State, Vector


@dataclass(frozen=True, kw_only=True)
class FedVARP(Cohort):
    """Variance reduction for partial participation: what absent clients sent last stands in for
    them.

        v = (1/|S|) sum_S (Delta_i - y_i) + (1/N) sum_{j=1..N} y_j,   with the y of before the round
        x <- x + server_lr * v;   then y_i <- Delta_i,  i in S

    All y_i start at 0, so the first round is FedAvg's. Drawn uniformly, v has the mean that all
    clients would give, and its noise vanishes as the Delta_i settle.

    Source: Jhunjhunwala et al. 2022, the update as the code of Rodio and Neglia 2024 quotes it; the
    algorithm box was not read. Departures: the paper divides a Delta by local_lr K, which is the
    same for equal K up to the rate; its clustered variant is not offered.
    """

    name = "fedvarp"
    full_name = "FedVARP"
    source = cited(jhunjhunwala2022="the update, as public code quotes it", rodio2024="in the authors' code")

    server_lr: Positive = option(1.0, "The server's learning rate.")

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=1, per_client=1)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, y_i=ClientTable(tools.info.clients, np.zeros_like(x0)))

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        n, N = len(batch.clients), tools.info.clients
        v = k.calibrated_mean(state.y_i, batch.clients, batch.delta, np.full(n, 1.0 / n), divisor=N)
        state.x = state.x + self.server_lr * v
