"""FedLin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Positive, Tools, option
from fedbench.types import Batch, Dispatch, GradientWork, Info, Job, LocalRule, Message, Rounds, State, Traffic, Vector, Weights


@dataclass(frozen=True, kw_only=True)
class FedLin(Algorithm):
    """Every round begins with the full gradient of all clients; local steps replace the client's
    own part of it by mini-batch gradients.

        server: G = sum p_i grad F_i(x)
        client: K steps  y <- y - (local_lr / K) * (g(y) - g(x) + G),   g(y) and g(x) on the same mini-batch
        server: x <- x + server_lr * sum p_i Delta_i

    `local_lr` is the rate of a whole run: each of its K steps takes a K-th. All clients take part.
    Clock and ledger charge for the pass over the examples that begins a round, and for both
    gradients of a step.

    Source: Mitra et al. 2021, Alg. 1 without compression; the mini-batch form is SVRG's. Sparsified
    gradients and models are not offered.
    """

    name = "fedlin"
    full_name = "FedLin"
    source = cited(mitra2021="Alg. 1, without compression")

    server_lr: Positive = option(1.0, "The server's learning rate.")

    def dispatch(self, info: Info) -> Dispatch:
        return Rounds(select="all", prelude="every_round", everybody=True)

    def traffic(self, info: Info) -> Traffic:
        return Traffic(down=2, up=2, exchanges=2)

    def gradient_work(self, info: Info) -> GradientWork:
        return GradientWork(per_step=2)

    def broadcast(self, state: State, tools: Tools) -> Message:
        G = np.zeros_like(state.x)
        for p, g in zip(tools.info.p.tolist(), tools.gradients(range(tools.info.clients), state.x), strict=True):
            G = k.weighted_sum((1.0, p), (G, g))
        return Message(x=state.x, G=G)

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(message.x, lr=self.local_lr / max(job.steps, 1), anchor=message.x, correction=message.G)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.x + self.server_lr * k.weighted_sum(self.entry_weights(batch, tools.info), batch.delta)

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        return k.weights("p", batch, info)
