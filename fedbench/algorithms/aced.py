"""ACED."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench.algorithms.ace import ACE
from fedbench.bibliography import cited
from fedbench.protocols import CountOrZero, Tools, option
from fedbench.types import Batch, State, Vector


@dataclass(frozen=True, kw_only=True)
class ACED(ACE):
    """All-client engagement with delays: ACE whose mean leaves out results of jobs that started too
    many versions ago.

        h_i <- Delta_i,  base_i <- the version that it started from, of the client that arrived
        A = {i: t - base_i <= delay_threshold},  t = the version before the update
        x <- x + server_lr * (1/|A|) sum_A h_j;   x stays if A is empty

    The client that arrived is in A only if its own result is fresh enough.

    Source: Chang et al. 2025, after the abstract, the introduction, public reviews and two public
    codes; the algorithm box was not read. Departures: those of ACE. The age of an entry counts from
    the version at which its job started; the public code also has it count from the newest version
    that was sent to the client.
    """

    name = "aced"
    full_name = "ACED"
    source = cited(chang2025="after the introduction and two public codes")

    start: Literal["wait_all", "seen"] = option(
        "wait_all",
        "What happens before every client has reported: the model waits at x0 (wait_all), or the mean is over those that have "
        "reported (seen).",
    )
    delay_threshold: CountOrZero | None = option(
        None, "The largest age, in versions, of a result that counts; none: the number of clients.", "ours"
    )

    def init(self, x0: Vector, tools: Tools) -> State:
        never = np.full(tools.info.clients, -1, np.int64)
        return State(**dict(super().init(x0, tools).items()), base_i=never)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        N = tools.info.clients
        tau = N if self.delay_threshold is None else self.delay_threshold
        oldest = max(0, batch.version - tau)  # A = {i: base_i >= oldest}
        for i in np.flatnonzero(state.base_i == oldest - 1) if oldest else ():
            state.h_i.leave_out(i)
        for i, delta, base in zip(batch.clients, batch.delta, batch.base, strict=True):
            state.h_i[i], state.base_i[i] = delta, base
            if base < oldest:
                state.h_i.leave_out(i)
        A = np.count_nonzero(state.base_i >= oldest)
        if A and (self.start == "seen" or state.h_i.count == N):
            state.x = state.x + (self.server_lr or 1 / N) * (state.h_i.total / A).astype(state.x.dtype)
