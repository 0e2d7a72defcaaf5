"""FedSGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedbench import kernels as k
from fedbench.protocols import Algorithm, Positive, Tools
from fedbench.types import Batch, Dispatch, Info, Rounds, State, Weights


@dataclass(frozen=True, kw_only=True)
class FedSGD(Algorithm):
    """A reference: everybody's gradient, one step a round. FedAvg with K = 1, whatever the scenario's local steps.

        x <- x + server_lr * sum p_i Delta_i,   Delta_i = -local_lr * g_i(x)

    With local batches of all examples this is gradient descent on the pooled data with the rate server_lr * local_lr. weights: p
    (all clients take part); p_normalised p_i / sum_S p_j, for scenarios that lose jobs; uniform 1/|S|.

    Source: McMahan et al., AISTATS 2017, section 2.
    """

    name = "fedsgd"
    source = "McMahan et al. 2017, sec. 2"

    server_lr: Positive = 1.0
    weights: Literal["p", "p_normalised", "uniform"] = "p"

    def dispatch(self, info: Info) -> Dispatch:
        return Rounds(select="all", steps=1, everybody=self.weights == "p")

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.weighted_sum(k.weights(self.weights, batch, tools.info), batch.delta)

    def buffer_weights(self, batch: Batch, info: Info) -> Weights:
        return k.weights(self.weights, batch, info)
