"""FedAWE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Cohort, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Job, LocalRule, Message, State, Vector


@dataclass(frozen=True, kw_only=True)
class FedAWE(Cohort):
    """Adaptive weights and echoes: a client that missed rounds starts from its own old model, and
    its progress counts once for each of these rounds.

        client: K steps from its own model X_i;   X_i+ = X_i + server_lr * (t - last_i) Delta_i
        server: x <- (1/|S|) sum_S X_i+;   then X_i <- x,  last_i <- t,  i in S;   absent clients keep theirs

    t = the round, last_i = the last one in which client i took part, -1 at first. A client sends
    one vector, X_i+ in the paper and Delta_i here, to which the server adds the X_i that both know.
    The model that the server sends at a round's end is charged as the download of the client's next
    job. A round is an update here, so rounds in which nobody is there do not count.

    Source: Xiang et al. 2024, Alg. 1, which was read in full. Departure: t counts no round without
    clients.
    """

    name = "fedawe"
    full_name = "FedAWE"
    source = cited(xiang2024="Alg. 1")
    clients_remember = True

    server_lr: Positive = option(1.0, "The server's learning rate.")
    sampling: Literal["without_replacement", "all"] = option("all", source="Xiang et al. 2024")

    def init(self, x0: Vector, tools: Tools) -> State:
        N = tools.info.clients
        return State(x=x0, last_i=np.full(N, -1, np.int64), memory=ClientTable(N, default=x0))

    def local(self, message: Message, job: Job, X_i: Vector) -> LocalRule:
        return self.rule(X_i)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        S, t = batch.clients, batch.version
        echoes = self.server_lr * (t - state.last_i[S])
        weights = np.concatenate([np.ones(len(S)), echoes]) / len(S)
        state.x = k.weighted_sum(weights, [*(state.memory[i] for i in S), *batch.delta])
        for i in S:
            state.memory[i] = state.x
        state.last_i[S] = t
