"""FedAvg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedbench import kernels as k
from fedbench.protocols import Algorithm, Count, Positive, Tools
from fedbench.types import Batch, Dispatch, Info, Rounds, State, Weights


@dataclass(frozen=True, kw_only=True)
class FedAvg(Algorithm):
    """Federated averaging: every round, the weighted mean of the clients' progress.

        x <- x + server_lr * sum_S a_i Delta_i

    weights: uniform a_i = 1/|S|; examples n_i / sum_S n_j; p p_i (all clients take part); p_normalised p_i / sum_S p_j;
    unbiased N p_i / |S|, for clients drawn uniformly. sampling: weighted draws with replacement and probability p_i, for which
    uniform weights are the unbiased ones. A client drawn r times runs once and counts r times.

    Source: McMahan et al., AISTATS 2017, Algorithm 1; [000] eq. (2)-(3), with the sign of (3) mended: progress is added.
    """

    name = "fedavg"
    source = "McMahan et al. 2017, Alg. 1; DeFedAvg paper eq. (2)-(3)"

    server_lr: Positive = 1.0
    cohort_size: Count = 10
    sampling: Literal["without_replacement", "with_replacement", "all", "weighted"] = "without_replacement"
    weights: Literal["uniform", "examples", "p", "p_normalised", "unbiased"] = "uniform"

    def dispatch(self, info: Info) -> Dispatch:
        return Rounds(select=self.sampling, cohort_size=self.cohort_size, everybody=self.weights == "p")

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        a = k.weights(self.weights, batch, tools.info)
        state.x = state.x + self.server_lr * k.weighted_sum(a, batch.delta)

    def buffer_weights(self, batch: Batch, info: Info) -> Weights:
        return k.weights("uniform" if self.weights == "unbiased" else self.weights, batch, info)
