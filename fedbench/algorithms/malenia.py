"""Malenia SGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Positive, Range, Tools, option
from fedbench.types import Batch, Info, State, Stream, Weights


@dataclass(frozen=True, kw_only=True)
class Malenia(Algorithm):
    """All clients compute at the newest model until everybody has given enough; the mean of the
    clients' means makes an update.

        x <- x + server_lr * (1/N) sum_i (1/B_i) sum_j Delta_ij
        as soon as the harmonic mean of the B_i is >= S/N,   S = buffer_size, B_i results of client i

    Results at an older model are ignored; with stop_stale they are not waited for. If S <= N, one
    result of every client is enough.

    Source: Tyurin and Richtárik 2023, after the authors' code and a later paper's box, which goes
    on at equality; the box of 2023 was not read. Departure: several local steps; the paper has one.
    """

    name = "malenia"
    full_name = "Malenia SGD"
    source = cited(tyurin2023="after the authors' code")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    buffer_size: Annotated[float, Range(low=1)] | None = option(
        None, "N times the harmonic mean of results a client (S); none: N.", "the least that the paper allows"
    )
    stop_stale: bool = option(False, "Whether computations at an older model are stopped (true), or ignored when they arrive.")

    def dispatch(self, info: Info) -> Stream:
        N = info.clients
        return Stream(
            concurrency=N, buffer_size=self.buffer_size or N, close="harmonic", restart="self",
            max_staleness=0, stop_stale=self.stop_stale,
        )  # fmt: skip

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.weighted_sum(self.entry_weights(batch, tools.info), batch.delta)

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        B = np.bincount(batch.clients, minlength=info.clients)
        return 1 / (info.clients * B[batch.clients])
