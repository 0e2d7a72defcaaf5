"""A federated run as people write it in torch: a loop at the server, and processes that train
clients. An update takes one message each way to every process.

The loop gets the plan of the run and the order of examples. It trains the jobs of an update, takes
the mean of their progress, and measures test accuracy and both losses where the run does.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from multiprocessing.connection import Connection

import numpy as np
import torch
from torch import Tensor, multiprocessing, nn

from fedbench.bench.case import Ready, Singles
from fedbench.bench.orders import PROCESSES, SAMPLE, Clients, Finished, Orders, outcome
from fedbench.bench.torch_ways import tensors
from fedbench.bench.train_ways import module_of, set_parameters, trained
from fedbench.types import Job

PART = 1000  # examples that are evaluated together


def progress(clients: Clients, module: nn.Module, data: tuple[Tensor, Tensor], start: Tensor, job: Job) -> Tensor:
    """Returns the progress (d,) of a job on shuffled mini-batches of the data."""
    rows = map(torch.from_numpy, clients.batches(job))
    return trained(module, start, ((data[0][own], data[1][own]) for own in rows), clients.lr) - start


def serve(pipe: Connection, clients: Clients, x: Tensor, y: Tensor) -> None:
    """Runs one process until its pipe is closed: receives ({version: model}, jobs) and sends the
    progress of these jobs (jobs, d). The tensors x and y are in memory that all share."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    module = module_of(clients.net)
    pipe.send("ready")
    while True:
        try:
            models, jobs = pipe.recv()
        except EOFError:
            return
        starts = {version: torch.from_numpy(x) for version, x in models.items()}
        pipe.send(np.stack([progress(clients, module, (x, y), starts[job.base], job).numpy() for job in jobs]))


class Server:
    """The loop at the server, with its processes."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.test, train = tensors(orders.test), tensors(orders.train)
        self.sample = [part[:SAMPLE] for part in train]
        self.pipes = []
        context = multiprocessing.get_context("spawn")
        for _ in range(PROCESSES):
            here, there = context.Pipe()
            context.Process(target=serve, args=(there, orders.clients, *train), daemon=True).start()
            there.close()
            self.pipes.append(here)
        self.module = module_of(orders.clients.net).eval()
        for pipe in self.pipes:
            pipe.recv()

    def run(self) -> Finished:
        orders, models = self.orders, dict[int, Singles]()
        uses = Counter(job.base for jobs in orders.updates for job in jobs)

        def step(version: int, x: Singles) -> Singles:
            jobs, models[version] = orders.updates[version], x
            x = x + np.float32(orders.server_lr) * self.progress(models, jobs).mean(axis=0)
            uses.subtract(job.base for job in jobs)
            for base in [base for base in models if not uses[base]]:
                del models[base]
            return x

        accuracies, first = orders.play(orders.x0, step, self.evaluate)
        return Finished(accuracies[-1], orders.steps, first)

    def progress(self, models: dict[int, Singles], jobs: list[Job]) -> Singles:
        shares = [jobs[number::PROCESSES] for number in range(PROCESSES)]
        for pipe, share in zip(self.pipes, shares, strict=True):
            if share:
                pipe.send(({job.base: models[job.base] for job in share}, share))
        return np.concatenate([pipe.recv() for pipe, share in zip(self.pipes, shares, strict=True) if share])

    def evaluate(self, x: Singles) -> float:
        """Returns the test accuracy, and computes the losses too. It uses as many threads as there
        are processes, which wait meanwhile."""
        before = torch.get_num_threads()
        torch.set_num_threads(PROCESSES)
        set_parameters(self.module, x)
        right = 0
        with torch.no_grad():
            for features, labels in (self.test, self.sample):
                for part, y in zip(torch.split(features, PART), torch.split(labels, PART), strict=True):
                    logits = self.module(part)
                    nn.functional.cross_entropy(logits, y, reduction="sum").item()
                    right += int((logits.argmax(1) == y).sum()) if labels is self.test[1] else 0
        torch.set_num_threads(before)
        return right / len(self.test[1])


def rounds(orders: Orders) -> Ready:
    """Makes one run a call. The processes have started before, and have their data."""
    return Ready(Server(orders).run, partial(outcome, orders))
