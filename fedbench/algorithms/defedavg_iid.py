"""DeFedAvg-IID."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedbench import kernels as k
from fedbench.protocols import Algorithm, Count, Positive, Tools
from fedbench.types import Batch, Broadcast, Dispatch, Info, State


@dataclass(frozen=True, kw_only=True)
class DeFedAvgIID(Algorithm):
    """Delayed federated averaging for identically distributed data: the first n arrivals make an update.

        x <- x + server_lr * (1/n) sum Delta,   n = cohort_size

    Every version is broadcast to all clients' receive buffers; a client starts whenever its buffer holds a model. receive: pop
    empties the buffer (a client appears at most once per version it received); peek keeps it, which is FedBuff with all clients
    working and zero download time.

    Source: [000] Algorithm 2. Departure: a client is idle again when its upload has arrived (uplink not overlapped).
    """

    name = "defedavg_iid"
    source = "DeFedAvg paper, Alg. 2"

    server_lr: Positive = 1.0
    cohort_size: Count = 10
    receive: Literal["pop", "peek"] = "pop"

    def dispatch(self, info: Info) -> Dispatch:
        return Broadcast(buffer_size=self.cohort_size, receive=self.receive)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.mean(batch.delta)
