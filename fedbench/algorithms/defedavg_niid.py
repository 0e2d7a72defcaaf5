"""DeFedAvg-nIID."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Count, Positive, Tools, option
from fedbench.types import Batch, Dispatch, Info, Mailbox, State, Weights


@dataclass(frozen=True, kw_only=True)
class DeFedAvgNIID(Algorithm):
    """Delayed federated averaging for clients with different data: every client counts alike,
    however slow it is.

        x <- x + server_lr * (1/n) sum Delta,   over n = cohort_size draws of the N clients

    The clients of an update are drawn with replacement. Every version is broadcast to all clients'
    receive buffers; clients train on and put their results into send buffers. A round takes the
    results of the drawn clients, and waits for those that have none.

    Source: Wang et al. 2024 (DeFedAvg), Alg. 1. Its text also speaks of leaving out clients without
    a result; its Algorithm 1 waits, and so do we.
    """

    name = "defedavg_niid"
    full_name = "DeFedAvg-nIID"
    source = cited(wang2024defedavg="Alg. 1")

    server_lr: Positive = option(0.1, "The server's learning rate.", "the paper's Table 2 in every legible cell")
    cohort_size: Count = option(10, "How many draws make an update (n).")
    send: Literal["continuous", "on_demand"] = option(
        "continuous",
        "What a client does whose result is not taken yet: it trains on and overwrites it (continuous), or rests (on_demand).",
    )
    receive: Literal["pop", "peek"] = option(
        "pop",
        "Whether a start empties the receive buffer (pop: a client appears at most once per version it received) or keeps the model "
        "there (peek).",
    )
    average: Literal["multiplicity", "distinct"] = option(
        "multiplicity", "Whether a client drawn r times counts r times (multiplicity) or once (distinct)."
    )

    def dispatch(self, info: Info) -> Dispatch:
        return Mailbox(cohort_size=self.cohort_size, send=self.send, receive=self.receive)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.weighted_sum(self.entry_weights(batch, tools.info), batch.delta)

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        counted = batch.first if self.average == "distinct" else np.ones_like(batch.first)
        return counted / np.count_nonzero(counted)
