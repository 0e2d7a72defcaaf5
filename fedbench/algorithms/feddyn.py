"""FedDyn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Cohort, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Job, LocalRule, Message, Reply, ServerMemory, State, Vector, Work


@dataclass(frozen=True, kw_only=True)
class FedDyn(Cohort):
    """Dynamic regularisation: a client's objective is bent until its minimiser is the common one.

        client: K steps on F_i(y) - <l_i, y> + (a/2) |y - x|^2:   y <- y - local_lr * (g(y) - l_i + a (y - x))
                l_i <- l_i - a Delta_i,   for an exact minimiser grad F_i(y)
        server: h <- h - a (1/N) sum_S Delta_i;   x <- x + (1/|S|) sum_S Delta_i - h / a

    a = `regularization`; l_i and h start at 0, and h stays the mean of the l_i.

    Source: Acar et al. 2021, Alg. 1.
    """

    name = "feddyn"
    full_name = "FedDyn"
    source = cited(acar2021="Alg. 1")
    clients_remember = True

    regularization: Positive = option(
        0.01, "Strength a of the dynamic regulariser.", "Acar et al. 2021, the middle of their grid"
    )

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=2)

    def init(self, x0: Vector, tools: Tools) -> State:
        zero = np.zeros_like(x0)
        return State(x=x0, h=zero, memory=ClientTable(tools.info.clients, zero))

    def local(self, message: Message, job: Job, l_i: Vector) -> LocalRule:
        return self.rule(message.x, prox=self.regularization, correction=-l_i)

    def reply(self, message: Message, job: Job, work: Work, l_i: Vector) -> Reply:
        return Reply(delta=work.delta, memory=l_i - self.regularization * work.delta)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        a = self.regularization
        state.h = state.h - k.weighted_sum(np.full(len(batch.clients), a / tools.info.clients), batch.delta)
        state.x = state.x + k.mean(batch.delta) - state.h / a
