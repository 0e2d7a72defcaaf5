"""FedAvg."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Positive, RepeatingCohort, Tools, option
from fedbench.types import Batch, Info, Rounds, State, Weights


@dataclass(frozen=True, kw_only=True)
class FedAvg(RepeatingCohort):
    """Federated averaging: every round, the weighted mean of the clients' progress.

        x <- x + server_lr * sum_S a_i Delta_i

    A client drawn r times runs once and counts r times. Uniform weights are the unbiased ones under
    sampling = weighted.

    Source: McMahan et al. 2017, Alg. 1; Wang et al. 2024 (DeFedAvg), eq. (2)-(3), with the sign of
    (3) mended: progress is added.
    """

    name = "fedavg"
    full_name = "FedAvg"
    source = cited(mcmahan2017="Alg. 1", wang2024defedavg="eq. (2)-(3)")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    weights: Literal["uniform", "examples", "p", "p_normalised", "unbiased"] = option(
        "uniform",
        "The weights a_i: 1/|S| (uniform), n_i / sum_S n_j (examples), p_i (p, which needs everybody), p_i / sum_S p_j (p_normalised), "
        "or N p_i / |S| (unbiased, for clients drawn uniformly).",
    )

    def dispatch(self, info: Info) -> Rounds:
        return Rounds(select=self.sampling, cohort_size=self.cohort_size, everybody=self.weights == "p")

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        a = self.entry_weights(batch, tools.info)
        state.x = state.x + self.server_lr * k.weighted_sum(a, batch.delta)

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        return k.weights(self.weights, batch, info)
