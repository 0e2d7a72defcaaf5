"""SCAFFOLD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Cohort, Positive, Tools
from fedbench.protocols import option as described  # SCAFFOLD has an option of the name `option`
from fedbench.tables import ClientTable
from fedbench.types import (
    Batch,
    GradientWork,
    Info,
    Job,
    LocalRule,
    Message,
    Reply,
    Rounds,
    ServerMemory,
    State,
    Traffic,
    Vector,
    Weights,
    Work,
)


@dataclass(frozen=True, kw_only=True)
class Scaffold(Cohort):
    """Stochastic controlled averaging: every local step is corrected by the difference of two
    control variates.

        client: y <- y - local_lr * (g(y) + c - c_i)
                option 1:  c_i+ = grad F_i(x) over all examples
                option 2:  c_i+ = gbar_i, the mean of its gradients;  for plain SGD, the paper's
                           c_i+ = c_i - c + (x - y) / (K local_lr)
        server: x <- x + server_lr * (1/|S|) sum_S Delta_i;   c <- c + (1/N) sum_S (c_i+ - c_i)
                with weights p:  both with p_i, and all clients take part

    Source: Karimireddy et al. 2020, Alg. 1.
    """

    name = "scaffold"
    full_name = "SCAFFOLD"
    source = cited(karimireddy2020="Alg. 1")
    clients_remember = True

    server_lr: Positive = described(1.0, "The server's learning rate.")
    option: Literal[1, 2] = described(
        2, "The paper's option for c_i+: a full gradient at x (1), or the mean of the gradients used (2)."
    )
    init_control: Literal["zero", "grad"] = described(
        "zero", "Where c_i and c start: at 0 (zero), or at the clients' full gradients at x0 and their mean (grad)."
    )
    weights: Literal["uniform", "p"] = described(
        "uniform", "The weights of a round: uniform over the cohort, or p_i (p), for which everybody takes part."
    )

    def dispatch(self, info: Info) -> Rounds:
        prelude, everybody = self.init_control == "grad", self.weights == "p"
        return Rounds(select=self.sampling, cohort_size=self.cohort_size, prelude=prelude, everybody=everybody)

    def traffic(self, info: Info) -> Traffic:
        return Traffic(down=2, up=2, exchanges=1)

    def gradient_work(self, info: Info) -> GradientWork:
        return GradientWork(full=1 if self.option == 1 else 0)

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=2)

    def init(self, x0: Vector, tools: Tools) -> State:
        c, table = np.zeros_like(x0), ClientTable(tools.info.clients, np.zeros_like(x0))
        if self.init_control == "grad":
            for i, g in enumerate(tools.gradients(range(tools.info.clients), x0)):
                table[i] = g + self.weight_decay * x0 if self.weight_decay and self.optimizer == "sgd" else g
            c = table.mean() if self.weights == "uniform" else k.weighted_sum(tools.info.p, table.dense())
        return State(x=x0, c=c, memory=table)

    def broadcast(self, state: State, tools: Tools) -> Message:
        return Message(x=state.x, c=state.c)

    def local(self, message: Message, job: Job, c_i: Vector) -> LocalRule:
        return self.rule(message.x, correction=message.c - c_i, wants=("mean_gradient" if self.option == 2 else "full_gradient",))

    def reply(self, message: Message, job: Job, work: Work, c_i: Vector) -> Reply:
        c_new = work.mean_gradient if self.option == 2 else work.full_gradient
        return Reply(delta=work.delta, dc=c_new - c_i, memory=c_new)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        a = self.entry_weights(batch, tools.info)
        share = len(batch.clients) / tools.info.clients if self.weights == "uniform" else 1.0
        state.x = state.x + self.server_lr * k.weighted_sum(a, batch.delta)
        state.c = state.c + k.weighted_sum(share * a, batch.dc)

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        return k.weights(self.weights, batch, info)
