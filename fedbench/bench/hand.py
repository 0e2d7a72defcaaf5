"""A federated run as people write it in torch: a loop at the server, and processes that train
clients. An update takes one message each way to every process.

The loop gets the plan of the run, so that it simulates nothing. It trains the jobs of an update,
takes the mean of their progress, and measures test accuracy and both losses where the run does. It
has its own order of examples. torch is imported when it starts.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from fedbench.bench.case import Outcome, Ready
from fedbench.bench.torch_ways import tensors
from fedbench.bench.train import Net
from fedbench.bench.train_ways import module_of

PROCESSES = 2
PART, SAMPLE = 1000, 2000  # examples that are evaluated together, and those of the training loss

Job = tuple[int, int, int]
"""The client, the version from which it starts, and its steps."""


@dataclass(frozen=True)
class Orders:
    """What the loop knows from the plan: the jobs of every update, the versions that it evaluates,
    and where it starts."""

    updates: list[list[Job]]
    evaluated: frozenset[int]
    x0: Any  # (d,)
    server_lr: float
    test: tuple[Any, Any]  # features and labels


@dataclass(frozen=True)
class Clients:
    """What a process needs to train clients: the network, all examples, the rows of every client,
    and the rate."""

    net: Net
    x: Any
    y: Any
    shards: list[Any]
    lr: float


class Local:
    """The clients of one process, which do plain SGD on the mean cross-entropy of shuffled
    mini-batches."""

    def __init__(self, clients: Clients) -> None:
        import torch

        self.clients, self.torch = clients, torch
        self.module = module_of(clients.net)
        self.loss = torch.nn.CrossEntropyLoss()

    def delta(self, x: Any, client: int, steps: int) -> Any:
        torch, parameters = self.torch, self.module.parameters
        shard = torch.from_numpy(self.clients.shards[client])
        torch.nn.utils.vector_to_parameters(x.clone(), parameters())
        optimizer = torch.optim.SGD(parameters(), lr=self.clients.lr)
        for rows in itertools.islice(self.batches(shard), steps):
            optimizer.zero_grad()
            self.loss(self.module(self.clients.x[rows]), self.clients.y[rows]).backward()
            optimizer.step()
        return torch.nn.utils.parameters_to_vector(parameters()).detach() - x

    def batches(self, shard: Any) -> Iterator[Any]:
        while True:
            yield from shard[self.torch.randperm(len(shard))].split(self.clients.net.batch)


def serve(pipe: Connection, clients: Clients) -> None:
    """Runs one process until its pipe is closed: receives ({version: model}, jobs) and sends the
    progress of these jobs (jobs, d)."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    local = Local(clients)
    pipe.send("ready")
    while True:
        try:
            models, jobs = pipe.recv()
        except EOFError:
            return
        starts = {version: torch.from_numpy(x) for version, x in models.items()}
        pipe.send(np.stack([local.delta(starts[base], client, steps).numpy() for client, base, steps in jobs]))


class Server:
    """The loop at the server, with its processes."""

    def __init__(self, orders: Orders, clients: Clients) -> None:
        import torch
        import torch.multiprocessing as processes

        self.orders, self.torch = orders, torch
        self.test, train = tensors(orders.test), tensors((clients.x, clients.y))
        self.train = [part[:SAMPLE] for part in train]
        self.pipes = []
        clients = replace(clients, x=train[0], y=train[1])  # processes share the memory of tensors
        context = processes.get_context("spawn")
        for _ in range(PROCESSES):
            here, there = context.Pipe()
            context.Process(target=serve, args=(there, clients), daemon=True).start()
            there.close()
            self.pipes.append(here)
        self.module = module_of(clients.net).eval()
        for pipe in self.pipes:
            pipe.recv()

    def run(self) -> tuple[float, int]:
        """Returns the test accuracy of the last model, and the number of steps trained."""
        x, models = self.orders.x0, {}
        uses = Counter(base for jobs in self.orders.updates for _, base, _ in jobs)
        accuracy, trained = 0.0, 0
        for version, jobs in enumerate(self.orders.updates):
            models[version] = x
            if version in self.orders.evaluated:
                accuracy = self.evaluate(x)
            x = x + np.float32(self.orders.server_lr) * self.progress(models, jobs).mean(axis=0)
            uses.subtract(base for _, base, _ in jobs)
            models = {base: model for base, model in models.items() if uses[base]}
            trained += sum(steps for _, _, steps in jobs)
        return self.evaluate(x) if len(self.orders.updates) in self.orders.evaluated else accuracy, trained

    def progress(self, models: dict[int, Any], jobs: list[Job]) -> Any:
        shares = [jobs[number::PROCESSES] for number in range(PROCESSES)]
        for pipe, share in zip(self.pipes, shares, strict=True):
            if share:
                pipe.send(({base: models[base] for _, base, _ in share}, share))
        return np.concatenate([pipe.recv() for pipe, share in zip(self.pipes, shares, strict=True) if share])

    def evaluate(self, x: Any) -> float:
        """Returns the test accuracy, and computes the losses too. It uses as many threads as there
        are processes, which wait meanwhile."""
        torch = self.torch
        before = torch.get_num_threads()
        torch.set_num_threads(PROCESSES)
        torch.nn.utils.vector_to_parameters(torch.from_numpy(x.copy()), self.module.parameters())
        right = 0
        with torch.no_grad():
            for features, labels in (self.test, self.train):
                for part, y in zip(features.split(PART), labels.split(PART), strict=True):
                    logits = self.module(part)
                    torch.nn.functional.cross_entropy(logits, y, reduction="sum").item()
                    right += int((logits.argmax(1) == y).sum()) if labels is self.test[1] else 0
        torch.set_num_threads(before)
        return right / len(self.test[1])


def by_hand(orders: Orders, clients: Clients) -> Ready:
    """Makes one run a call. The processes have started before, and have their data."""
    server = Server(orders, clients)

    def read(found: tuple[float, int]) -> Outcome:
        accuracy, trained = found
        return {"updates": len(orders.updates), "trained_steps": trained, "test_accuracy": accuracy}

    return Ready(server.run, read)
