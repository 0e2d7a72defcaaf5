"""Rescaled ASGD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Positive, Tools, option
from fedbench.types import Batch, Info, State, Stream


@dataclass(frozen=True, kw_only=True)
class RescaledASGD(Algorithm):
    """Every arrival is an update, with a rate that grows with the time that its client takes, so
    that all clients move the model alike in the long run.

        x <- x + server_lr * w_i Delta_i,   w_i = T_i / H,   H = N / sum_j (1 / T_j);   with weights p:  w_i = N p_i T_i / H

    T_i are the mean seconds that client i computes for a job. If client i makes 1/T_i updates a
    second, the weights of the updates have mean 1, so that server_lr means what it does in FedBuff
    with buffers of one. Plain asynchronous SGD goes to the optimum of clients weighted by their
    speeds instead.

    T_i has no transfers. Where these are not small, a client's cycle is longer than T_i, and a bias
    of that size remains.

    Source: Mahran et al. 2026, after the abstract and two summaries; the algorithm's box was not
    read. The scale H is ours: the paper's may differ by a constant.
    """

    name = "rescaled_asgd"
    full_name = "Rescaled ASGD"
    source = cited(mahran2026="after the abstract and two summaries")

    server_lr: Positive | None = option(
        None, "The server's learning rate; none: 1/N.", "ours: each of N clients counts once in N updates"
    )
    weights: Literal["uniform", "p"] = option(
        "uniform", "The objective: the mean of all clients' (uniform), or their sum with the weights p_i (p)."
    )

    def dispatch(self, info: Info) -> Stream:
        info.check_seconds()
        return Stream(concurrency=info.clients, buffer_size=1, restart="self")

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        T, N, i = tools.info.job_seconds, tools.info.clients, batch.clients[0]
        H = N / (1 / T).sum()
        share = 1.0 if self.weights == "uniform" else N * batch.p[0]
        state.x = state.x + (self.server_lr or 1 / N) * float(share * T[i] / H) * batch.delta[0]
