"""FedAsync."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Count, Fraction, NonNegative, Tools, option
from fedbench.types import Batch, Dispatch, Info, Job, LocalRule, Message, Reply, State, Stream, Vector, Weights, Work

PAPER = "Xie et al. 2019, as public codes have it"


@dataclass(frozen=True, kw_only=True)
class FedAsync(Algorithm):
    """Asynchronous mixing: every arrival moves the server towards the client's model, by less the
    staler the arrival is.

        client: y <- y - local_lr * (g(y) + prox * (y - x^base))
        server: al = mixing * s(tau);  x <- (1 - al) x + al y
        s(tau) = 1 (constant);   (1 + tau)^-a (poly);   1 if tau <= b, else 1 / (a (tau - b) + 1) (hinge)

    Source: Xie et al. 2019, Alg. 1 and section 5.2.
    """

    name = "fedasync"
    full_name = "FedAsync"
    source = cited(xie2019="Alg. 1 and sec. 5.2")

    mixing: Fraction = option(0.6, "The server's mixing weight of a fresh arrival.", PAPER)
    prox: NonNegative = option(0.005, "Strength of the pull towards the model that the client received.", PAPER)
    staleness: Literal["constant", "poly", "hinge"] = option("poly", "How the weight falls with the staleness tau: see s(tau).")
    a: NonNegative | None = option(None, "The steepness a; none: the paper's, 0.5 of poly and 10 of hinge.", PAPER)
    b: NonNegative = option(4.0, "The largest staleness that hinge leaves at full weight.", PAPER)
    paper_offset: bool = option(False, "Whether tau counts from 1, as the paper's epochs do.")
    concurrency: Count | None = option(None, "How many clients work at a time; none: all.")

    def dispatch(self, info: Info) -> Dispatch:
        return Stream(concurrency=self.concurrency or info.clients, buffer_size=1)

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(message.x, prox=self.prox)

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        return Reply(y=work.end)

    def mixing_weights(self, batch: Batch) -> Weights:
        tau = batch.staleness + int(self.paper_offset)
        a = (10.0 if self.staleness == "hinge" else 0.5) if self.a is None else self.a
        return self.mixing * k.staleness_weight(self.staleness, tau, a, self.b)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        for al, y in zip(self.mixing_weights(batch).tolist(), batch.y, strict=True):
            state.x = (1 - al) * state.x + al * y
