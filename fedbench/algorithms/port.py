"""PORT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Buffered, NonNegative, Positive, Tools, option
from fedbench.types import Batch, Info, ServerMemory, State, Vector

CODE = "the authors' code"


@dataclass(frozen=True, kw_only=True)
class Port(Buffered):
    """Buffered asynchronous aggregation, weighted by staleness and by agreement with the server's
    last movement.

        r_j = (n_j / sum_S n) (similarity_weight (l_j + 1) / 2 + staleness_weight b / (tau_j + b)),   b = staleness_bound
        l_j = cos(x - x_prev, Delta_j), 0 if either is zero;  1 if tau_j <= 1
        x <- x + server_lr * sum_S (r_j / sum_S r) Delta_j

    x_prev is the version before x, or with span = staleness the one from which the client started.
    If all r are 0 the model stays. The weights follow from the server's state, so buffers of
    models, such as those of BatchNorm, are averaged with equal weights.

    Source: Su and Li 2022 (PORT), after the authors' code; the paper was not read. Departure: the
    paper's server also tells clients beyond the bound to report at once, which is not offered.
    """

    name = "port"
    full_name = "PORT"
    source = cited(su2022="after the authors' code")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    staleness_bound: Positive = option(10.0, "The staleness b at which the weight of freshness is a half.", CODE)
    similarity_weight: NonNegative = option(1.0, "How much agreement with the server's movement counts.", CODE)
    staleness_weight: NonNegative = option(1.0, "How much freshness counts.", CODE)
    span: Literal["one", "staleness"] = option(
        "one", "The server's movement: its last step (one), or all since the client's base (staleness, the code's comment).", CODE
    )

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=2) if self.span == "one" else ServerMemory(own=1, per_version=1)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, **({"x_prev": x0} if self.span == "one" else {}))

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        bases = [state.x_prev if self.span == "one" else batch.base_x(j) for j in range(len(batch.clients))]
        rows = zip(batch.staleness, bases, batch.delta, strict=True)
        cos = np.array([1.0 if tau <= 1 else k.direction_cosine(state.x, base, delta) or 0.0 for tau, base, delta in rows])
        b = self.staleness_bound
        r = k.weights("examples", batch, tools.info) * (
            self.similarity_weight * (cos + 1) / 2 + self.staleness_weight * b / (batch.staleness + b)
        )
        if self.span == "one":
            state.x_prev = state.x
        if r.any():
            state.x = state.x + self.server_lr * k.weighted_sum(r / r.sum(), batch.delta)
