"""Ringleader ASGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Integers, ServerMemory, State, Turns, Vector, Weights


@dataclass(frozen=True, kw_only=True)
class Ringleader(Algorithm):
    """All clients always work; in a round of N updates every client's mean result counts, and every
    client gets a new model once.

        at the first update of a round, when everybody has reported:   mean_i <- 0,  b_i <- 0
        for every result of the update:   mean_i <- (b_i mean_i + Delta_i) / (b_i + 1),   b_i <- b_i + 1
        x <- x + server_lr * (1/N) sum_{i=1..N} mean_i

    The first update has all results that were collected. Every other update has the next result of
    a client that has not had its turn; what a client sends after its turn is collected for the next
    round. A mean counts in up to N updates; with server_lr = 1/N it moves the model by one mean in
    all.

    Source: Maranjyan and Richtárik 2025 (Ringleader), after the authors' code and two descriptions
    that agree; the algorithm's box was not read. They keep sums and counts, which is the same; they
    differ in resend. Departure: several local steps; the paper has one, at rate server_lr *
    local_lr.
    """

    name = "ringleader"
    full_name = "Ringleader ASGD"
    source = cited(maranjyan2025ringleader="after the authors' code and two descriptions")

    server_lr: Positive | None = option(None, "The server's learning rate; none: 1/N.", "ours: a mean counts once in all")
    resend: Literal["turn", "newest"] = option(
        "turn",
        "When a client gets a new model: once a round, after its turn (turn, the paper), or whenever it has reported and there is a "
        "newer one (newest, the authors' code).",
    )

    def dispatch(self, info: Info) -> Turns:
        return Turns(resend=self.resend)

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=1, per_client=1)

    def init(self, x0: Vector, tools: Tools) -> State:
        mean_i, b_i = empty_table(x0, tools.info.clients)
        return State(x=x0, mean_i=mean_i, b_i=b_i)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        N = tools.info.clients
        if batch.version % N == 0:
            state.mean_i, state.b_i = empty_table(state.x, N)
        for i, delta in zip(batch.clients.tolist(), batch.delta, strict=True):
            state.b_i[i] += 1
            b = int(state.b_i[i])
            mean = k.weighted_sum(np.array([(b - 1) / b, 1 / b]), [state.mean_i[i], delta])
            v = k.newest_mean(state.mean_i, [i], [mean], divisor=N)
        state.x = state.x + (self.server_lr or 1 / N) * v

    def warnings(self, state: State) -> list[str]:
        if state.mean_i.count:
            return []
        return ["ringleader: the model is still x0, since not every client reported; the first update waits for all of them"]

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        """Returns weights under which the clients of an update count alike, as in the model."""
        B = np.bincount(batch.clients, minlength=info.clients)
        return 1 / (np.count_nonzero(B) * B[batch.clients])


def empty_table(x: Vector, clients: int) -> tuple[ClientTable, Integers]:
    """Returns the mean_i and the b_i without any results."""
    return ClientTable(clients, np.zeros_like(x)), np.zeros(clients, np.int64)
