"""AsySG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Count, Positive, Tools, option
from fedbench.types import Batch, Dispatch, Info, State, Stream


@dataclass(frozen=True, kw_only=True)
class AsySG(Algorithm):
    """Asynchronous stochastic gradient: every client pulls the model, pushes one mini-batch
    gradient, and pulls again.

        x <- x - gamma * sum g_i(x^base) over the next n gradients to arrive,   n = cohort_size
        gamma = server_lr / n (mode mean), or server_lr (mode sum)

    There are no local steps and so no local rate: `local_lr`, `momentum` and `optimizer` have no
    effect.

    Source: Lian et al. 2015, Alg. 1 (AsySG-con), which adds the gradients up. Wang et al. 2024
    (DeFedAvg), with one rate for every n, take the mean.
    """

    name = "asysg"
    full_name = "AsySG"
    source = cited(lian2015="Alg. 1", wang2024defedavg="as baseline")
    sends = "first_gradient"

    server_lr: Positive = option(0.1, "The server's learning rate.", "Wang et al. 2024 (DeFedAvg), Table 2")
    cohort_size: Count = option(10, "How many gradients make an update (n).")
    mode: Literal["mean", "sum"] = option("mean", "Whether an update is the mean or the sum of its gradients.")

    def dispatch(self, info: Info) -> Dispatch:
        return Stream(concurrency=info.clients, buffer_size=self.cohort_size, restart="self", steps=1)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        n = len(batch.clients)
        gamma = self.server_lr / n if self.mode == "mean" else self.server_lr
        state.x = state.x - k.weighted_sum(np.full(n, gamma), batch.first_gradient)
