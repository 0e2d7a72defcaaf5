"""DeFedAvg-nIID."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.protocols import Algorithm, Count, Positive, Tools
from fedbench.types import Batch, Dispatch, Info, Mailbox, State, Weights


@dataclass(frozen=True, kw_only=True)
class DeFedAvgNIID(Algorithm):
    """Delayed federated averaging for clients with different data: every client counts alike, however slow it is.

        x <- x + server_lr * (1/n) sum Delta over n = cohort_size draws from the N clients, with replacement

    Every version is broadcast to all clients' receive buffers; clients train on and put their results into send buffers. A round
    takes the results of the drawn clients, and waits for those who have none. send: continuous, a client trains on and a newer
    result overwrites an untaken one; on_demand, it rests until its result is taken. receive: pop, peek as in DeFedAvg-IID.
    average: multiplicity, a client drawn r times counts r times; distinct, once. The paper's tuned server_lr is mostly 0.1.

    Source: [000] Algorithm 1. Its text also speaks of leaving out clients without a result; its Algorithm 1 waits, and so do we.
    """

    name = "defedavg_niid"
    source = "DeFedAvg paper, Alg. 1"

    server_lr: Positive = 1.0
    cohort_size: Count = 10
    send: Literal["continuous", "on_demand"] = "continuous"
    receive: Literal["pop", "peek"] = "pop"
    average: Literal["multiplicity", "distinct"] = "multiplicity"

    def dispatch(self, info: Info) -> Dispatch:
        return Mailbox(cohort_size=self.cohort_size, send=self.send, receive=self.receive)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.weighted_sum(self.buffer_weights(batch, tools.info), batch.delta)

    def buffer_weights(self, batch: Batch, info: Info) -> Weights:
        counted = batch.first if self.average == "distinct" else np.ones_like(batch.first)
        return counted / np.count_nonzero(counted)
