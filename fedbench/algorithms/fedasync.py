"""FedAsync."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.protocols import Algorithm, Count, Fraction, NonNegative, Tools
from fedbench.types import Batch, Dispatch, Info, Job, LocalRule, Message, Reply, State, Stream, Vector, Weights, Work


@dataclass(frozen=True, kw_only=True)
class FedAsync(Algorithm):
    """Asynchronous mixing: every arrival moves the server towards the client's model, less the staler it is.

        client: y <- y - local_lr * (g(y) + prox * (y - x^base))
        server: al = mixing * s(tau);  x <- (1 - al) x + al y

    staleness: constant s = 1; poly (1 + tau)^-a; hinge 1 if tau <= b, else 1 / (a (tau - b) + 1). The paper has a = 1/2 for poly and
    a = 10 for hinge. `paper_offset` counts tau from 1, as the paper's epochs do. `concurrency` None: all clients work.

    Source: Xie, Koyejo, Gupta: Asynchronous Federated Optimization (2019), Algorithm 1 and section 5.2.
    """

    name = "fedasync"
    source = "Xie et al. 2019, Alg. 1"

    mixing: Fraction = 0.6
    prox: NonNegative = 0.005
    staleness: Literal["constant", "poly", "hinge"] = "poly"
    a: NonNegative = 0.5
    b: NonNegative = 4.0
    paper_offset: bool = False
    concurrency: Count | None = None

    def dispatch(self, info: Info) -> Dispatch:
        return Stream(concurrency=self.concurrency or info.clients, buffer_size=1)

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(message.x, prox=self.prox)

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        return Reply(y=work.end)

    def mixing_weights(self, batch: Batch) -> Weights:
        tau = batch.staleness + int(self.paper_offset)
        return self.mixing * k.staleness_weight(self.staleness, tau, self.a, self.b)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        for al, y in zip(self.mixing_weights(batch).tolist(), batch.y, strict=True):
            state.x = (1 - al) * state.x + al * y

    def buffer_weights(self, batch: Batch, info: Info) -> Weights:
        return np.ones(len(batch.clients))
