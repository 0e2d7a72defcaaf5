"""FedAC (asynchronous, adaptive, with control variates)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import BelowOne, Buffered, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Job, LocalRule, Message, Reply, ServerMemory, State, Traffic, Vector, Work

RESNET18_RATE = 1e-4  # the server's rate that Wang et al. 2025 tuned (Tables 8 and 9)
CODE = "a public code"


@dataclass(frozen=True, kw_only=True)
class FedAC(Buffered):
    """Buffered asynchronous aggregation weighted by agreement with the server's own movement, with
    an adaptive server step.

        client: y <- y - local_lr * (g(y) + C - C_i), C sent with version `base`;  C_i <- gbar_i;  dC_i = gbar_i - old C_i
        server: r_i = max(cos(x - x^base, Delta_i), 0.1), 1 if tau = 0 or x = x^base;  w = r / sum r;  D = sum w_i Delta_i
                m <- beta1 m + (1 - beta1) D;  v <- beta2 v + (1 - beta2) D^2;  mh = beta1 m + (1 - beta1) D
                x <- x + server_lr * mh / (sqrt(v) + eps);   C <- C + f sum w_i dC_i,  f = 1 (M/N with scaffold_scale)

    The cosine is ill-posed for a vanishing Delta, whose rounding noise would decide it. So |Delta|
    <= 1e-12 |x| counts as zero: its cosine is 0 and its weight is 0.1. The weights w follow from the
    server's state, so buffers of models, such as BatchNorm's, are averaged with equal weights. A
    step moves each of d parameters by up to about its rate, and so the model by up to sqrt(d) times
    the rate: the default rate moves every model as far as the rate that Wang et al. 2025 tuned
    moves ResNet-18. (A public code has 1e-3 for every model.)

    Source: Zang et al. 2024. The primary text was not available; formulas follow public code, with
    the correction inside every step. The variant that corrects once after training is not offered:
    its normalisation is not specified.
    """

    name = "fedac"
    full_name = "FedAC"
    source = cited(zang2024="after public code")
    clients_remember = True

    server_lr: Positive | None = option(
        None,
        "The server's learning rate; none: 1e-4 for ResNet-18, times sqrt(11173962 / d) for d parameters.",
        "Wang et al. 2025, Tables 8 and 9, scaled to the model",
    )
    beta1: BelowOne = option(0.6, "Decay of the first moment m.", CODE)
    beta2: BelowOne = option(0.9, "Decay of the second moment v.", CODE)
    eps: Positive = option(1e-8, "What is added to the root of the second moment.", CODE)
    scaffold_scale: bool = option(
        False, "Whether C moves by M/N of the weighted corrections, as SCAFFOLD's c does, or by all of them."
    )

    def traffic(self, info: Info) -> Traffic:
        return Traffic(down=2, up=2, exchanges=1)

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=4, per_version=1)

    def init(self, x0: Vector, tools: Tools) -> State:
        zero = np.zeros_like(x0)
        return State(x=x0.copy(), C=zero, m=zero.copy(), v=zero.copy(), memory=ClientTable(tools.info.clients, zero))

    def broadcast(self, state: State, tools: Tools) -> Message:
        return Message(x=state.x, C=state.C)

    def local(self, message: Message, job: Job, C_i: Vector) -> LocalRule:
        return self.rule(message.x, correction=message.C - C_i, wants=("mean_gradient",))

    def reply(self, message: Message, job: Job, work: Work, C_i: Vector) -> Reply:
        return Reply(delta=work.delta, dC=work.mean_gradient - C_i, memory=work.mean_gradient)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        rows = enumerate(zip(batch.delta, batch.staleness, strict=True))
        r = np.array([agreement(state.x, batch.base_x(i), delta, tau) for i, (delta, tau) in rows])
        w = r / r.sum()
        rule = k.AdamRule(self.rate(state.x.size), self.beta1, self.beta2, self.eps, bias_correction=False, ahead=True)
        k.sum_adaptive_step(state.x, state.m, state.v, None, w, batch.delta, rule, use_maximum=False)
        f = len(r) / tools.info.clients if self.scaffold_scale else 1.0
        state.C = state.C + k.weighted_sum(f * w, batch.dC)

    def rate(self, d: int) -> float:
        """Returns the server's rate on a model of d parameters."""
        return k.rate_for(d, RESNET18_RATE) if self.server_lr is None else self.server_lr


def agreement(x: Vector, base: Vector, delta: Vector, tau: int) -> float:
    """Returns r of one arrival: 1 if the server has not moved since `base`, else the cosine, at
    least 0.1."""
    cos = None if tau == 0 else k.direction_cosine(x, base, delta)
    return 1.0 if cos is None else max(cos, 0.1)
