"""FedAvgM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import BelowOne, Positive, RepeatingCohort, Tools, option
from fedbench.types import Batch, Info, ServerMemory, State, Vector, Weights


@dataclass(frozen=True, kw_only=True)
class FedAvgM(RepeatingCohort):
    """Federated averaging with momentum at the server.

        D = sum_S a_i Delta_i;   v <- beta v + D;   x <- x + server_lr * v,   beta = server_momentum
        with nesterov:  x <- x + server_lr * (D + beta v)

    The sum is not damped: while D stays the same, the model moves by up to server_lr D / (1 - beta)
    a round.

    Source: Hsu et al. 2019, after descriptions that agree; the paper was not read. The form of
    Nesterov is the usual one of deep-learning libraries, not the paper's.
    """

    name = "fedavgm"
    full_name = "FedAvgM"
    source = cited(hsu2019="after descriptions that agree")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    server_momentum: BelowOne = option(0.9, "Decay of the server's momentum (beta).", "as published implementations have it")
    nesterov: bool = option(False, "Whether the step looks ahead: D + beta v in the place of v.")
    weights: Literal["uniform", "examples"] = option(
        "uniform", "The weights a_i of a round: 1/|S| (uniform), or n_i / sum_S n_j (examples, as the paper has)."
    )

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=2)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, v=np.zeros_like(x0))

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        beta, lr = self.server_momentum, self.server_lr
        D = k.weighted_sum(self.entry_weights(batch, tools.info), batch.delta)
        state.v = beta * state.v + D
        state.x = state.x + lr * D + (lr * beta) * state.v if self.nesterov else state.x + lr * state.v

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        return k.weights(self.weights, batch, info)
