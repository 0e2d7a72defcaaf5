"""AREA."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Count, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Job, Message, Reply, State, Stream, Vector, Work


@dataclass(frozen=True, kw_only=True)
class AREA(Algorithm):
    """Asynchronous exact averaging: a client sends how far its end model is from the one that it
    sent last.

        client: y = end of K steps from the x that it received;   r_i = y - y_i;   y_i <- y
        server: x <- x + (1/N) sum of the r_i that arrived

    All y_i start at x0, so x = (1/N) sum_{j=1..N} y_j after every update, however often each client
    arrives. There is no server rate: any but 1 would tie x to x0.

    Source: Iakovidou and Kim 2024, after the abstract and summaries by others; the algorithm box
    was not read.
    """

    name = "area"
    full_name = "AREA"
    source = cited(iakovidou2024="after the abstract and summaries")
    clients_remember = True

    buffer_size: Count = option(1, "How many arrivals make an update (M).", "the plain rule of Iakovidou and Kim 2024")

    def dispatch(self, info: Info) -> Stream:
        return Stream(concurrency=info.clients, buffer_size=self.buffer_size, restart="self")

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, memory=ClientTable(tools.info.clients, default=x0))

    def reply(self, message: Message, job: Job, work: Work, y_i: Vector) -> Reply:
        return Reply(r=work.end - y_i, memory=work.end)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        share = np.full(len(batch.clients), 1 / tools.info.clients)
        state.x = state.x + k.weighted_sum(share, batch.r)
