"""A federated run as people write it in torch: a loop at the server, and processes that train
clients. An update takes one message each way to every process.

The loop gets the plan of the run and the order of examples. It trains the jobs of an update, takes
the mean of their progress, and measures test accuracy and both losses where the run does. torch is
imported when it starts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from fedbench.bench.case import Ready
from fedbench.bench.orders import SAMPLE, Clients, Finished, Job, Orders, outcome
from fedbench.bench.torch_ways import tensors
from fedbench.bench.train_ways import module_of

PROCESSES = 2
PART = 1000  # examples that are evaluated together


class Local:
    """The clients of one process, which do plain SGD on the mean cross-entropy of shuffled
    mini-batches."""

    def __init__(self, clients: Clients) -> None:
        import torch

        self.clients, self.torch = clients, torch
        self.module = module_of(clients.net)
        self.loss = torch.nn.CrossEntropyLoss()

    def delta(self, x: Any, job: Job) -> Any:
        torch, parameters = self.torch, self.module.parameters
        torch.nn.utils.vector_to_parameters(x.clone(), parameters())
        optimizer = torch.optim.SGD(parameters(), lr=self.clients.lr)
        for batch in self.clients.batches(job):
            rows = torch.from_numpy(batch)
            optimizer.zero_grad()
            self.loss(self.module(self.clients.x[rows]), self.clients.y[rows]).backward()
            optimizer.step()
        return torch.nn.utils.parameters_to_vector(parameters()).detach() - x


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
        pipe.send(np.stack([local.delta(starts[job.base], job).numpy() for job in jobs]))


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

    def run(self) -> Finished:
        orders = self.orders
        x, models = orders.x0, {}
        uses = Counter(job.base for jobs in orders.updates for job in jobs)
        first, accuracy, trained = x, 0.0, 0
        for version, jobs in enumerate(orders.updates):
            models[version] = x
            if version in orders.evaluated:
                accuracy = self.evaluate(x)
            x = x + np.float32(orders.server_lr) * self.progress(models, jobs).mean(axis=0)
            uses.subtract(job.base for job in jobs)
            models = {base: model for base, model in models.items() if uses[base]}
            first, trained = (x if version == 0 else first), trained + sum(job.steps for job in jobs)
        if len(orders.updates) in orders.evaluated:
            accuracy = self.evaluate(x)
        return Finished(accuracy, trained, first)

    def progress(self, models: dict[int, Any], jobs: list[Job]) -> Any:
        shares = [jobs[number::PROCESSES] for number in range(PROCESSES)]
        for pipe, share in zip(self.pipes, shares, strict=True):
            if share:
                pipe.send(({job.base: models[job.base] for job in share}, share))
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


def by_hand(given: tuple[Orders, Clients]) -> Ready:
    """Makes one run a call. The processes have started before, and have their data."""
    server = Server(*given)
    return Ready(server.run, lambda finished: outcome(*given, finished))
