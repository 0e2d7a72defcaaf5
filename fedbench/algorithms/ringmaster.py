"""Ringmaster ASGD."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Count, Positive, Tools, option
from fedbench.types import Batch, Info, State, Stream


@dataclass(frozen=True, kw_only=True)
class Ringmaster(Algorithm):
    """Asynchronous SGD that refuses what is too stale: every arrival of delay below R moves the
    model.

        if tau < R:   x <- x + server_lr * Delta;   else nothing

    In both cases the client starts again from the newest model. With stop_stale, computations whose
    delay has reached R are stopped after every update and start again.

    Source: Maranjyan et al. 2025 (Ringmaster), after the authors' code, which stops; the algorithm
    box was not read. Departure: several local steps; the paper has one, at rate gamma = server_lr *
    local_lr.
    """

    name = "ringmaster"
    full_name = "Ringmaster ASGD"
    source = cited(maranjyan2025ringmaster="after the authors' code")

    server_lr: Positive | None = option(None, "The server's learning rate; none: 1/R.", "ours")
    delay_threshold: Count | None = option(None, "The delay from which on arrivals are refused (R); none: N.", "ours")
    stop_stale: bool = option(False, "Whether a computation is stopped as soon as its delay reaches R.")

    def R(self, info: Info) -> int:
        return self.delay_threshold or info.clients

    def dispatch(self, info: Info) -> Stream:
        return Stream(concurrency=info.clients, restart="self", max_staleness=self.R(info) - 1, stop_stale=self.stop_stale)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + (self.server_lr or 1 / self.R(tools.info)) * k.weighted_sum(np.ones(1), batch.delta)
