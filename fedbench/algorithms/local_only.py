"""Local training without a federation."""

from __future__ import annotations

from dataclasses import dataclass

from fedbench.protocols import Algorithm, Tools
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Job, LocalRule, Message, Reply, State, Stream, Traffic, Vector, Work


@dataclass(frozen=True, kw_only=True)
class LocalOnly(Algorithm):
    """A reference, not a federated algorithm: every client trains alone, and nothing is ever sent.

        client i, again and again:   h_i <- K steps of y <- y - local_lr * g_i(y) from h_i;   h_i = x0 at first

    K, the batch size and the time of a step are the scenario's. A client that is away stands still,
    and a job that drops out leaves h_i as it was. Momentum starts again after every K steps.

    Each client is judged by its own h_i. Accuracies and losses of the records are plain means of
    theirs over all N clients, on the test set of the whole task. The accuracy by client is that of
    h_i on the mix of classes that client i has. The difference to a federated algorithm is what
    federation gains. With few classes on each client it gains much on the whole test set, and may
    lose on the clients' own mixes. The steps are those of all clients together.

    x = (1/N) sum h_i shows whether a client diverges. Nobody gets it, and it is not judged.

    Source: mini-batch SGD, on the examples of one client.
    """

    name = "local_only"
    full_name = "Local only"
    source = "mini-batch SGD of every client alone"
    alone = True
    clients_remember = True

    def dispatch(self, info: Info) -> Stream:
        return Stream(concurrency=info.clients, buffer_size=1, restart="self")

    def traffic(self, info: Info) -> Traffic:
        return Traffic(down=0, up=0, exchanges=0)

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, memory=ClientTable(tools.info.clients, x0))

    def broadcast(self, state: State, tools: Tools) -> Message:
        return Message()

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(memory)

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        return Reply(memory=work.end)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.x = state.memory.mean()
