"""ACE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Buffered, Count, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, ServerMemory, State, Vector


@dataclass(frozen=True, kw_only=True)
class ACE(Buffered):
    """All-client engagement: every arrival moves the model by the mean of what all clients sent
    last.

        h_i <- Delta_i of the client that arrived;   x <- x + server_lr * (1/N) sum_{j=1..N} h_j

    One arrival makes an update. A Delta counts in every update until its client's next one takes
    its place, which is about N updates; with server_lr = 1/N it moves the model by one Delta in
    all.

    Source: Chang et al. 2025, after the abstract, the introduction, public reviews and two public
    codes; the algorithm box was not read. Departures: several local steps and larger buffers; the
    paper has one step and one arrival.
    """

    name = "ace"
    full_name = "ACE"
    source = cited(chang2025="after the introduction and two public codes")

    server_lr: Positive | None = option(None, "The server's learning rate; none: 1/N.", "ours: a Delta counts once in all")
    buffer_size: Count = option(1, source="Chang et al. 2025")
    restart: Literal["resample", "self"] = option("self", source="Chang et al. 2025")
    start: Literal["wait_all", "warm", "seen"] = option(
        "wait_all",
        "What happens before every client has reported: the model waits at x0 (wait_all), the others' h_j = 0 count (warm), or the "
        "mean is over those that have reported (seen).",
    )

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=1, per_client=1)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, h_i=ClientTable(tools.info.clients, np.zeros_like(x0)))

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        N = tools.info.clients
        n = len({*state.h_i.written(), *batch.clients.tolist()}) if self.start == "seen" else N
        h = k.newest_mean(state.h_i, batch.clients, batch.delta, divisor=n)
        if self.start != "wait_all" or state.h_i.count == N:
            state.x = state.x + (self.server_lr or 1 / N) * h

    def warnings(self, state: State) -> list[str]:
        silent = state.h_i.clients - state.h_i.count
        if self.start != "wait_all" or not silent:
            return []
        return [
            f"{self.name}: the model is still x0, since {silent} of {state.h_i.clients} clients never reported; see start, concurrency"
        ]
