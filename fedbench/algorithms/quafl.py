"""QuAFL."""

from __future__ import annotations

from dataclasses import dataclass

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Count, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Dispatch, Info, Job, LocalRule, Message, Poll, Reply, State, Vector, Work


@dataclass(frozen=True, kw_only=True)
class QuAFL(Algorithm):
    """Polled averaging, without quantisation: clients keep models X_i of their own, which a poll
    averages with the server's.

        client: Y_i = X_i after the steps, at most K, that it has done by the poll
        server: x+ = (x + sum_S Y_i) / (s + 1);   X_i <- (x + s Y_i) / (s + 1) with the x before this update,   s = |S|

    All X_i start at x0.

    Source: Zakerinia et al. 2024, Alg. 1, and the authors' code. The quantiser is the identity.
    """

    name = "quafl"
    full_name = "QuAFL"
    source = cited(zakerinia2024="Alg. 1, and the authors' code; not quantised")
    clients_remember = True

    cohort_size: Count = option(10, "How many clients a poll asks (s).")
    period_seconds: Positive | None = option(
        None, "Virtual seconds from poll to poll; none: the mean over the clients of the time that K steps take.", "ours"
    )
    max_steps: Count | None = option(
        None, "The largest number of steps that a client does for a poll (K); none: the scenario's.", "the scenario"
    )
    lr_compensation: bool = option(True, "Whether the local rate is local_lr (s + 1) / s, as in the authors' code, or local_lr.")
    server_averaging: bool = option(True, "Whether the server's own x enters the new one, or the mean of Y_i alone makes it.")
    client_averaging: bool = option(True, "Whether a client keeps its share of Y_i, or takes x in place of X_i.")

    def dispatch(self, info: Info) -> Dispatch:
        return Poll(cohort_size=self.cohort_size, period_seconds=self.period_seconds, max_steps=self.max_steps)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, memory=ClientTable(tools.info.clients, default=x0))

    def local(self, message: Message, job: Job, X_i: Vector) -> LocalRule:
        s = self.cohort_size
        return self.rule(X_i, lr=self.local_lr * (s + 1) / s if self.lr_compensation else self.local_lr)

    def reply(self, message: Message, job: Job, work: Work, X_i: Vector) -> Reply:
        return Reply(y=work.end)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        x, s = state.x, len(batch.clients)
        state.x = k.mean([x, *batch.y]) if self.server_averaging else k.mean(batch.y)
        for i, y in zip(batch.clients, batch.y, strict=True):
            state.memory[i] = k.weighted_sum([1 / (s + 1), s / (s + 1)], [x, y]) if self.client_averaging else x
