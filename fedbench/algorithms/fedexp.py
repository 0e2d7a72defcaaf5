"""FedExP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Positive, RepeatingCohort, Tools, option
from fedbench.types import Batch, Info, ServerMemory, State, Vector, Weights


@dataclass(frozen=True, kw_only=True)
class FedExP(RepeatingCohort):
    """Federated averaging with a server rate that grows as the clients of a round disagree.

        D = sum_S a_i Delta_i;   eta = max(1, sum_S a_i |Delta_i|^2 / (2 (|D|^2 + eps)));   x <- x + eta D
        evaluated:  (x^T + x^{T-1}) / 2,  from which training does not go on

    Buffers of a model, such as those of BatchNorm, are those of x^T.

    Source: Jhunjhunwala et al. 2023 (FedExP), Alg. 1, after two public codes that agree.
    """

    name = "fedexp"
    full_name = "FedExP"
    source = cited(jhunjhunwala2023="Alg. 1, after two public codes")

    eps: Positive = option(
        1e-3, "What is added to |D|^2; it is absolute, so its effect depends on the model and the rate.", "the paper tunes it"
    )
    weights: Literal["uniform", "examples"] = option(
        "uniform", "The weights a_i of a round: 1/|S| (uniform), or n_i / sum_S n_j (examples)."
    )

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=2)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, x_prev=x0, eta=1.0)

    def evaluated(self, state: State) -> Vector:
        return k.mean([state.x, state.x_prev])

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        a = self.entry_weights(batch, tools.info)
        D = k.weighted_sum(a, batch.delta)
        spread = k.ordered_sum(a_i * k.dot(delta, delta) for a_i, delta in zip(a.tolist(), batch.delta, strict=True))
        state.eta = max(1.0, spread / (2 * (k.dot(D, D) + self.eps)))
        state.x, state.x_prev = state.x + state.eta * D, state.x

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        return k.weights(self.weights, batch, info)
