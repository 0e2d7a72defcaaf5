"""DeFedAvg-IID."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Count, Positive, Tools, option
from fedbench.types import Batch, Broadcast, Dispatch, Info, State


@dataclass(frozen=True, kw_only=True)
class DeFedAvgIID(Algorithm):
    """Delayed federated averaging for identically distributed data: the first n arrivals make an
    update.

        x <- x + server_lr * (1/n) sum Delta,   n = cohort_size

    Every version is broadcast to all clients' receive buffers; a client starts whenever its buffer
    holds a model. With receive = peek this is FedBuff with all clients working and zero download
    time.

    Source: Wang et al. 2024 (DeFedAvg), Alg. 2. Departure: a client is idle again when its upload
    has arrived (uplink not overlapped).
    """

    name = "defedavg_iid"
    full_name = "DeFedAvg-IID"
    source = cited(wang2024defedavg="Alg. 2")

    server_lr: Positive = option(0.1, "The server's learning rate.", "the paper's Table 2 in 7 of 10 cells; 1 in the others")
    cohort_size: Count = option(10, "How many arrivals make an update (n).")
    receive: Literal["pop", "peek"] = option(
        "pop",
        "Whether a start empties the receive buffer (pop: a client appears at most once per version it received) or keeps the model "
        "there (peek).",
    )

    def dispatch(self, info: Info) -> Dispatch:
        return Broadcast(buffer_size=self.cohort_size, receive=self.receive)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.mean(batch.delta)
