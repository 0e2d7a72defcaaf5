"""FedSGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Positive, Tools, option
from fedbench.types import Batch, Dispatch, Info, Rounds, State, Weights


@dataclass(frozen=True, kw_only=True)
class FedSGD(Algorithm):
    """A reference: one step a round along the gradients of all clients. It is FedAvg with K = 1,
    whatever the scenario's local steps.

        x <- x + server_lr * sum a_i Delta_i,   Delta_i = -local_lr * g_i(x)

    With weights p and local batches of all examples this is gradient descent on the pooled data
    with the rate server_lr * local_lr.

    Source: McMahan et al. 2017, section 2.
    """

    name = "fedsgd"
    full_name = "FedSGD"
    source = cited(mcmahan2017="sec. 2")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    weights: Literal["p", "p_normalised", "uniform"] = option(
        "p",
        "The weights a_i: p_i (p, which needs everybody), p_i / sum_S p_j (p_normalised, where jobs are lost), or 1/|S| (uniform).",
    )

    def dispatch(self, info: Info) -> Dispatch:
        return Rounds(select="all", steps=1, everybody=self.weights == "p")

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.weighted_sum(self.entry_weights(batch, tools.info), batch.delta)

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        return k.weights(self.weights, batch, info)
