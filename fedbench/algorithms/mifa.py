"""MIFA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Cohort, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Job, Message, Reply, ServerMemory, State, Vector, Work


@dataclass(frozen=True, kw_only=True)
class MIFA(Cohort):
    """Memory-augmented impatient federated averaging: a round consists of the clients that are
    there, and the last update of every client counts.

        client: G_i <- (x - y_i) / local_lr,   i in S;  the others' stay
        server: x <- x - local_lr * server_lr * (1/N) sum_{i=1..N} G_i

    By default all clients that are there take part in a round, as in the paper, whose first round
    has everybody. Where somebody is away in the first round, the model waits at x0 until everybody
    has reported. With a drawn cohort (sampling = without_replacement) that takes many rounds, and
    start = warm does not wait.

    Source: Gu et al. 2021, Alg. 1.
    """

    name = "mifa"
    full_name = "MIFA"
    source = cited(gu2021="Alg. 1")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    sampling: Literal["without_replacement", "all"] = option("all", source="Gu et al. 2021")
    start: Literal["wait_all", "warm"] = option(
        "wait_all",
        "What happens before every client has reported: the model waits at x0 (wait_all: the paper's first round of all clients), or "
        "the others' G_i = 0 count (warm).",
        "Gu et al. 2021",
    )
    average: Literal["all", "nonempty"] = option(
        "all", "The clients that are averaged over: all N, or those that have reported, this round included (nonempty)."
    )

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=1, per_client=1)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, G_i=ClientTable(tools.info.clients, np.zeros_like(x0)))

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        return Reply(G=-work.delta / self.local_lr)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        N = tools.info.clients
        reported = N if self.average == "all" else len({*state.G_i.written(), *batch.clients.tolist()})
        G = k.newest_mean(state.G_i, batch.clients, batch.G, divisor=reported)
        if self.start == "warm" or state.G_i.count == N:
            state.x = state.x - self.local_lr * self.server_lr * G

    def warnings(self, state: State) -> list[str]:
        silent = state.G_i.clients - state.G_i.count
        if self.start != "wait_all" or not silent:
            return []
        return [f"mifa: the model is still x0, since {silent} of {state.G_i.clients} clients never reported; see start, sampling"]
