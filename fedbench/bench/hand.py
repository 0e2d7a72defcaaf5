"""A federated run as people write it in torch: a loop at the server, and processes that train
clients, one message each way an update.

The loop is handed the plan of the run, so that it simulates nothing: it trains the jobs of an
update, takes the mean of their progress, and measures test accuracy and both losses where the run
does. The order of examples is its own. torch is imported when it starts.
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
from fedbench.bench.train import Net
from fedbench.bench.train_ways import module_of

PROCESSES = 2
PART, SAMPLE = 1000, 2000  # examples that are evaluated together; those of the training loss

Job = tuple[int, int, int]
"""Client, the version that it starts from, and steps."""


@dataclass(frozen=True)
class Orders:
    """What the loop knows beforehand: the jobs of every update, after which versions it evaluates,
    and where it starts."""

    updates: list[list[Job]]
    evaluated: frozenset[int]
    x0: Any  # (d,)
    server_lr: float
    test: tuple[Any, Any]  # features and labels


@dataclass(frozen=True)
class Clients:
    """What a process needs to train clients: their examples and rows of these, the network, and the
    rate."""

    net: Net
    x: Any
    y: Any
    shards: list[Any]
    lr: float


class Local:
    """The clients of one process: plain SGD on the mean cross-entropy of shuffled mini-batches."""

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
    """One process: ({version: model}, jobs) in, their progress (jobs, d) out, until the pipe is
    closed."""
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
    """The loop."""

    def __init__(self, orders: Orders, clients: Clients) -> None:
        import torch
        import torch.multiprocessing as processes

        self.orders, self.torch = orders, torch
        self.test, train = tensors(*orders.test), tensors(clients.x, clients.y)
        self.train = tuple(part[:SAMPLE] for part in train)
        self.pipes = []
        clients = replace(clients, x=train[0], y=train[1])  # which processes share
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
        """Test accuracy of the last model, and the steps trained."""
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
        """Test accuracy; the losses are computed too. On as many threads as there are processes,
        which wait."""
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


def tensors(*arrays: Any) -> tuple[Any, ...]:
    import torch

    return tuple(torch.from_numpy(array) for array in arrays)


def by_hand(orders: Orders, clients: Clients) -> Ready:
    """One run a call; processes are there, and have their data."""
    server = Server(orders, clients)

    def read(found: tuple[float, int]) -> Outcome:
        accuracy, trained = found
        return {"updates": len(orders.updates), "trained_steps": trained, "test_accuracy": accuracy}

    return Ready(server.run, read)
