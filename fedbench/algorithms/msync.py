"""m-synchronous SGD."""

from __future__ import annotations

from dataclasses import dataclass

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.errors import UsageError
from fedbench.protocols import Algorithm, Count, Positive, Tools, option
from fedbench.types import Batch, Dispatch, Info, Rounds, State


@dataclass(frozen=True, kw_only=True)
class MSync(Algorithm):
    """m-synchronous SGD: all clients start every round together, and the first m results make the
    update.

        x <- x + server_lr * (1/m) sum of the first m Delta_i;   the other clients stop, and everybody starts again

    m = `cohort_size`. A round lasts as long as its m-th fastest job. With fixed speeds the same m
    clients are the first in every round, so unequal objectives pull the model to theirs.

    Source: Begunov and Tyurin 2026, Alg. 3, after the introduction and a description by others; the
    algorithm box was not read. Departures: several local steps, of which the paper has one. What is
    late is called off; the reading in which late clients go on and miss the next round is not
    offered.
    """

    name = "msync"
    full_name = "m-synchronous SGD"
    source = cited(begunov2026="Alg. 3, after the introduction and a description by others")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    cohort_size: Count | None = option(
        None, "How many results make an update (m); none: those of all clients.", "ours: everybody once"
    )

    def dispatch(self, info: Info) -> Dispatch:
        m = self.cohort_size or info.clients
        if m > info.clients:
            raise UsageError(f"msync: cohort_size must be at most the number of clients, {info.clients}, got {m}")
        return Rounds(select="all", over_selection=info.clients - m)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.mean(batch.delta)
