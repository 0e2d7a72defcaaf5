"""Delayed Nesterov."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.errors import UsageError
from fedbench.protocols import Algorithm, BelowOne, Count, Fraction, Positive, Tools, option
from fedbench.types import Batch, Info, ServerMemory, State, Stream, Vector

CODE = "public implementations"


@dataclass(frozen=True, kw_only=True)
class DelayedNesterov(Algorithm):
    """Every arrival moves the model at once, and the server's momentum moves at every M-th arrival
    only, by the mean of the last M.

        B <- B + Delta
        at every M-th arrival:  m <- beta m + B / M,  B <- 0,  h = 1 - (M - 1) c;   at the others:  h = c
        x <- x + server_lr * (h beta m + Delta / M),   M = buffer_size,  beta = server_momentum,  c = spread

    So stale momentum is not added M times. Of the momentum, M arrivals together add one share
    beta m. With `steps_by_speed` the fastest client does the scenario's local steps, and a client
    that is r times as slow does 1/r of them, rounded down, so that all take about the same time.

    Source: Liu et al. 2024, Alg. 3, after two public implementations that cite it, which agree for
    spread = 0; the algorithm's box was not read. Its optimiser of local steps is AdamW
    (`optimizer`).
    """

    name = "delayed_nesterov"
    full_name = "Delayed Nesterov"
    source = cited(liu2024="Alg. 3, after two public implementations")

    buffer_size: Count | None = option(
        None, "After how many arrivals the momentum moves (M); none: the number of clients.", "the paper: the number of workers"
    )
    server_momentum: BelowOne = option(0.9, "Decay of the server's momentum (beta).", CODE)
    server_lr: Positive = option(0.7, "The server's learning rate.", CODE)
    spread: Fraction = option(0.0, "The share c of the momentum that every arrival but the M-th adds, at most 1 / M.", CODE)
    steps_by_speed: bool = option(False, "Whether slower clients do fewer local steps (the paper's dynamic local updates).")

    def dispatch(self, info: Info) -> Stream:
        self.period(info)
        steps = k.steps_by_speed(info.step_seconds, info.fastest_steps) if self.steps_by_speed else None
        return Stream(concurrency=info.clients, buffer_size=1, restart="self", steps=steps)

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=3)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, m=np.zeros_like(x0), B=np.zeros_like(x0))

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        M, beta, (delta,) = self.period(tools.info), self.server_momentum, batch.delta
        state.B, h = state.B + delta, self.spread
        if (batch.version + 1) % M == 0:
            state.m, state.B = beta * state.m + state.B / M, np.zeros_like(state.B)
            h = 1 - (M - 1) * self.spread
        state.x = state.x + (self.server_lr / M) * delta + (self.server_lr * h * beta) * state.m

    def period(self, info: Info) -> int:
        """Returns M. UsageError if `spread` is more than 1 / M."""
        M = self.buffer_size or info.clients
        if self.spread * M > 1:
            raise UsageError(f"delayed_nesterov: spread must be at most 1/buffer_size = {1 / M:g}, got {self.spread:g}")
        return M
