"""FedProx."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedbench.algorithms.fedavg import FedAvg
from fedbench.bibliography import cited
from fedbench.protocols import NonNegative, option
from fedbench.types import Job, LocalRule, Message, Vector


@dataclass(frozen=True, kw_only=True)
class FedProx(FedAvg):
    """Federated averaging whose clients are pulled back to the model that they received.

        client: y <- y - local_lr * (g(y) + prox * (y - x))             prox_form l2: + prox/2 |y - x|_2^2 in the objective
                y <- y - local_lr * (g(y) + 2 prox |y - x|_1 sign(y - x))          l1_squared: + prox |y - x|_1^2
        server: x <- x + server_lr * sum_S a_i Delta_i,   sampling and weights as in FedAvg

    l1_squared is what the public code of Wu et al. 2021 adds: the squared L1 norm over all
    coordinates, whose pull grows with their number. The experiments of Wu et al. 2021 have sampling
    all, weights p, server_lr 1 and prox in {1, 0.1, 0.01}.

    Source: Li et al. 2020, Alg. 2, every client solving inexactly by its local steps.
    """

    name = "fedprox"
    full_name = "FedProx"
    source = cited(li2020="Alg. 2")

    prox: NonNegative = option(
        0.1, "Strength of the pull towards the model that the client received.", "the middle of the grid of Wu et al. 2021"
    )
    prox_form: Literal["l2", "l1_squared"] = option(
        "l2", "The norm of the proximal term: half the squared L2 norm (l2), or the squared L1 norm (l1_squared)."
    )

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(message.x, prox=self.prox, prox_form=self.prox_form)
