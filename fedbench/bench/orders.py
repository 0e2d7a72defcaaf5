"""A run as other ways of it get it: the plan, the data and the initial model, so that nobody needs
to simulate anything, and the order of examples, so that all train the same steps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fedbench.bench.case import Outcome
from fedbench.bench.train import Net
from fedbench.errors import FedbenchError
from fedbench.kernels.random import draw_batches

SAMPLE = 2000  # examples of the training loss, which the run measures too


class Job(NamedTuple):
    client: int
    k: int  # the client's how many-th job
    base: int  # the version from which it starts
    steps: int


@dataclass(frozen=True)
class Orders:
    """What the server knows from the plan: the jobs of every update, the versions that it
    evaluates, and where it starts."""

    updates: list[list[Job]]
    evaluated: frozenset[int]
    x0: Any  # (d,)
    server_lr: float
    test: tuple[Any, Any]  # features and labels

    @property
    def steps(self) -> int:
        return sum(job.steps for jobs in self.updates for job in jobs)


@dataclass(frozen=True)
class Clients:
    """What is needed to train clients: the network, all examples, the rows of every client, the
    rate, and the seed of the order of examples."""

    net: Net
    x: Any
    y: Any
    shards: list[Any]
    lr: float
    seed: int

    def batches(self, job: Job) -> list[Any]:
        """Returns the rows of every step of a job, as the run draws them."""
        shard = self.shards[job.client]
        rows, offsets = draw_batches(self.seed, job.client, job.k, len(shard), self.net.batch, job.steps)
        return [shard[rows[a:b]] for a, b in itertools.pairwise(offsets.tolist())]


class Finished(NamedTuple):
    """What a way leaves: the last test accuracy, the steps that it counted, and the model after the
    first update."""

    accuracy: float
    trained: int
    first: Any  # (d,)


def cohorts(orders: Orders, clients: Clients) -> Any:
    """Returns the rows of all batches (updates, cohort, steps, batch). FedbenchError if the run is
    not made of rounds of equal jobs with full batches."""
    for version, jobs in enumerate(orders.updates):
        if any(job.base != version for job in jobs):
            raise FedbenchError(f"update {version + 1}: expected a round, whose jobs start from version {version}")
    try:
        return np.array([[clients.batches(job) for job in jobs] for jobs in orders.updates], np.int32)
    except ValueError:
        raise FedbenchError("expected rounds of as many jobs, each of as many full batches") from None


def outcome(orders: Orders, clients: Clients, finished: Finished) -> Outcome:
    """Returns what all ways of a run are compared in. The loss after the first update belongs to it
    where all can train the same steps to the end: in softmax regression, which has no ties."""
    found = {"updates": len(orders.updates), "trained_steps": finished.trained, "test_accuracy": finished.accuracy}
    return {**found, "first_loss": scores(finished.first, orders.test)[0]} if is_softmax(clients.net) else found


def is_softmax(net: Net) -> bool:
    """Whether the network is one linear layer."""
    return [layer[0] for layer in net.layers if layer[0] != "flatten"] == ["linear"]


def matrix_and_bias(x: Any, classes: int) -> tuple[Any, Any]:
    """Returns the weights (C, features) and biases (C,) of a flat vector (d,) of softmax
    regression."""
    return x[:-classes].reshape(classes, -1), x[-classes:]


def scores(x: Any, examples: tuple[Any, Any]) -> tuple[float, float]:
    """Returns the mean loss and the accuracy of softmax regression x (d,), in float64."""
    features, labels = examples[0].reshape(len(examples[0]), -1), examples[1]
    weights, bias = matrix_and_bias(x.astype(np.float64), len(x) // (features.shape[1] + 1))
    logits = features @ weights.T + bias
    logits -= logits.max(axis=1, keepdims=True)
    loss = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(labels)), labels]
    return float(loss.mean()), float((logits.argmax(axis=1) == labels).mean())


def softmax_truth(orders: Orders, clients: Clients) -> Outcome:
    """Returns the outcome of federated softmax regression in numpy and float64."""
    features, labels = clients.x.reshape(len(clients.x), -1), clients.y
    classes, x, first, accuracy, trained = clients.net.classes, orders.x0.astype(np.float64), orders.x0, 0.0, 0
    for version, rows in enumerate(cohorts(orders, clients)):
        weights, bias = (np.repeat(part[None], len(rows), axis=0) for part in matrix_and_bias(x, classes))
        for step in rows.swapaxes(0, 1):
            batch, wanted = features[step].astype(np.float64), np.eye(classes)[labels[step]]
            logits = batch @ weights.swapaxes(1, 2) + bias[:, None]
            share = np.exp(logits - logits.max(axis=2, keepdims=True))
            slope = (share / share.sum(axis=2, keepdims=True) - wanted) * (clients.lr / batch.shape[1])
            weights, bias = weights - slope.swapaxes(1, 2) @ batch, bias - slope.sum(axis=1)
        ends = np.concatenate([weights.reshape(len(rows), -1), bias], axis=1)
        x = x + orders.server_lr * (ends.mean(axis=0) - x)
        first, trained = (x if version == 0 else first), trained + rows.shape[0] * rows.shape[1]
        accuracy = scores(x, orders.test)[1] if version + 1 in orders.evaluated else accuracy
    return outcome(orders, clients, Finished(accuracy, trained, first))
