"""Centralised SGD."""

from __future__ import annotations

from dataclasses import dataclass

from fedbench import kernels as k
from fedbench.protocols import Algorithm, Tools
from fedbench.types import Batch, Dispatch, Info, Job, Message, Reply, Rounds, State, Traffic, Vector, Work


@dataclass(frozen=True, kw_only=True)
class Centralised(Algorithm):
    """A reference, not a federated algorithm: one worker with everybody's examples does mini-batch
    SGD.

        x <- K steps of y <- y - local_lr * g(y) from x,   g on a mini-batch of the pooled data

    K, the batch size and the time of a step are the scenario's; the worker has no slowdown, is
    always there and sends nothing. The column `steps` of the records' curves compares it with
    federated runs at the same number of gradient steps, which is the same number of examples unless
    a client has less than a batch. Momentum starts again after every K steps, as on clients.

    Source: mini-batch SGD; scenarios/pooled.py says what becomes of the scenario.
    """

    name = "centralised"
    full_name = "Centralised SGD"
    source = "mini-batch SGD on the pooled data"
    pooled = True

    def dispatch(self, info: Info) -> Dispatch:
        return Rounds(select="all")

    def traffic(self, info: Info) -> Traffic:
        return Traffic(down=0, up=0, exchanges=0)

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        return Reply(y=work.end)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = k.mean(batch.y)  # the mean of one vector
