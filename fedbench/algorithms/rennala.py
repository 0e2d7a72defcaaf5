"""Rennala SGD."""

from __future__ import annotations

from dataclasses import dataclass

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Count, Positive, Tools, option
from fedbench.types import Batch, Info, State, Stream


@dataclass(frozen=True, kw_only=True)
class Rennala(Algorithm):
    """All clients compute at the newest model, again and again; the first S results at it make an
    update.

        x <- x + server_lr * (1/S) sum Delta,   S = buffer_size; a client may give several

    Results at an older model are ignored; with stop_stale they are not waited for.

    Source: Tyurin and Richtárik 2023, after the authors' code, which stops, and a later paper's
    box; the box of 2023 was not read. Departure: several local steps; the paper has one, at rate
    server_lr * local_lr.
    """

    name = "rennala"
    full_name = "Rennala SGD"
    source = cited(tyurin2023="after the authors' code")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    buffer_size: Count = option(10, "How many results at one model make an update (S).")
    stop_stale: bool = option(False, "Whether computations at an older model are stopped (true), or ignored when they arrive.")

    def dispatch(self, info: Info) -> Stream:
        return Stream(
            concurrency=info.clients, buffer_size=self.buffer_size, restart="self", max_staleness=0, stop_stale=self.stop_stale
        )

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.mean(batch.delta)
