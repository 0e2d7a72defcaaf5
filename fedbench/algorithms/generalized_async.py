"""Generalized AsyncSGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.errors import UsageError
from fedbench.protocols import Algorithm, Count, Positive, Tools, option
from fedbench.types import Batch, Info, State, Stream, Weights


@dataclass(frozen=True, kw_only=True)
class GeneralizedAsync(Algorithm):
    """C tasks circulate among clients with queues; a result counts the more, the more rarely its
    client is drawn.

        x <- x + server_lr * Delta_j / (N r_j);   the task goes to client i with probability r_i, busy or not

    The weights make the mean direction that of (1/N) sum F_i for any r. With weights = p they are
    p_j / r_j, and the direction is that of sum p_i F_i. Staleness counts from the dispatch, the
    wait in the queue included; its mean is C - 1.

    Source: Leconte et al. 2024 and Alahyane et al. 2025, as generally known; their algorithm boxes
    were not read, and the formulas were derived anew. Departures: several local steps, buffers of
    more than one.
    """

    name = "generalized_async"
    full_name = "Generalized AsyncSGD"
    source = cited(leconte2024="as generally known", alahyane2025="as generally known")

    server_lr: Positive | None = option(None, "The server's learning rate; none: 1/C.", "ours: a task counts once in C updates")
    concurrency: Count | None = option(None, "How many tasks circulate (C); none: N.")
    buffer_size: Count = option(1, "How many arrivals make an update, of which the mean is taken.", "Leconte et al. 2024")
    routing: Literal["uniform", "rates"] | tuple[Positive, ...] = option(
        "uniform",
        "The r_i: 1/N (uniform), proportional to 1 / mean computing time of a job (rates), or given, one a client, with sum 1.",
    )
    weights: Literal["uniform", "p"] = option("uniform", "The weight of a result: 1/(N r_j) (uniform), or p_j / r_j (p).")

    def dispatch(self, info: Info) -> Stream:
        C = self.concurrency or info.clients
        return Stream(concurrency=C, buffer_size=self.buffer_size, routing=tuple(self.r(info).tolist()))

    def r(self, info: Info) -> Weights:
        """Returns the probabilities (N,). Raises UsageError if there is not one per client, or if
        the jobs of a client take no time on average."""
        if isinstance(self.routing, tuple):
            if len(self.routing) != info.clients:
                raise UsageError(f"{self.name}: routing must have {info.clients} probabilities, got {len(self.routing)}")
            return np.array(self.routing)
        if self.routing == "rates":
            info.check_seconds()
        rates = np.ones(info.clients) if self.routing == "uniform" else 1 / info.job_seconds
        return np.asarray(rates / k.ordered_sum(rates.tolist()))

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        lr = self.server_lr or 1 / (self.concurrency or tools.info.clients)
        state.x = state.x + lr * k.weighted_sum(self.entry_weights(batch, tools.info), batch.delta)

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        """Returns w_j / M, where w_j = 1/(N r_j) or p_j / r_j."""
        M, j = len(batch.clients), batch.clients
        w = (info.p[j] if self.weights == "p" else 1 / info.clients) / self.r(info)[j]
        return np.asarray(w / M)
