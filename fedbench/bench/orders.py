"""A run as other ways of it get it: the plan, the data and the initial model, so that nobody needs
to simulate anything, and the order of examples, so that all train the same steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from fedbench.bench.case import Doubles, Outcome, Rows, Singles
from fedbench.bench.train import Net
from fedbench.errors import FedbenchError
from fedbench.kernels.random import draw_batches

if TYPE_CHECKING:
    from torch import Tensor

    from fedbench.types import Job, Vector

PROCESSES = 2  # which train clients, here and in the run
SAMPLE = 2000  # examples of the training loss, which the run measures too
Model = TypeVar("Model")
Score = TypeVar("Score")
A = TypeVar("A", "Vector", "Tensor")
Examples = tuple[Singles, Rows]  # features and labels


@dataclass(frozen=True)
class Clients:
    """What is needed to train clients beside all examples: the network, the rows of every client,
    the rate, and the seed of the order of examples."""

    net: Net
    shards: list[Rows]
    lr: float
    seed: int

    def batches(self, job: Job) -> list[Rows]:
        """Returns the rows of every step of a job, as the run draws them."""
        shard = self.shards[job.client]
        rows, offsets = draw_batches(self.seed, job.client, job.k, len(shard), self.net.batch, job.steps)
        return [shard[rows[a:b]] for a, b in itertools.pairwise(offsets.tolist())]


@dataclass(frozen=True)
class Orders:
    """What the server knows from the plan: the jobs of every update, the versions that it
    evaluates, the last one among them, and where it starts; and the data."""

    updates: list[list[Job]]
    evaluated: frozenset[int]
    x0: Singles  # (d,)
    server_lr: float
    test: Examples
    train: Examples
    clients: Clients

    @property
    def sample(self) -> Examples:
        """The examples of the training loss."""
        return self.train[0][:SAMPLE], self.train[1][:SAMPLE]

    @property
    def steps(self) -> int:
        return sum(job.steps for jobs in self.updates for job in jobs)

    def play(
        self, x: Model, step: Callable[[int, Model], Model], evaluate: Callable[[Model], Score]
    ) -> tuple[list[Score], Model]:
        """Returns the scores of the evaluated versions, and the model after the first update.

        Args:
            x: the model of version 0.
            step: returns the next model, given a version and its model.
            evaluate: returns the score of a model.
        """
        first, found = x, []
        for version in range(len(self.updates) + 1):
            if version in self.evaluated:
                found.append(evaluate(x))
            if version < len(self.updates):
                x = step(version, x)
            first = x if version == 0 else first
        return found, first


class Finished(NamedTuple):
    """What a way leaves: the last test accuracy, the steps that it counted, and the model after the
    first update."""

    accuracy: float
    trained: int
    first: Vector  # (d,)


def cohorts(orders: Orders) -> npt.NDArray[np.int32]:
    """Returns the rows of all batches (updates, cohort, steps, batch). FedbenchError if the run is
    not made of rounds of equal jobs with full batches."""
    for version, jobs in enumerate(orders.updates):
        if any(job.base != version for job in jobs):
            raise FedbenchError(f"update {version + 1}: expected a round, whose jobs start from version {version}")
    try:
        return np.array([[orders.clients.batches(job) for job in jobs] for jobs in orders.updates], np.int32)
    except ValueError:
        raise FedbenchError("expected rounds of as many jobs, each of as many full batches") from None


def outcome(orders: Orders, finished: Finished) -> Outcome:
    """Returns what all ways of a run are compared in. The loss after the first update belongs to it
    where all can train the same steps to the end: in softmax regression, which has no ties."""
    found = {"updates": len(orders.updates), "trained_steps": finished.trained, "test_accuracy": finished.accuracy}
    is_softmax = [layer.kind for layer in orders.clients.net.layers if layer.kind != "flatten"] == ["linear"]
    return {**found, "first_loss": scores(finished.first, orders.test)[0]} if is_softmax else found


def matrix_and_bias(x: A, classes: int) -> tuple[A, A]:
    """Returns the weights (C, features) and biases (C,) of a flat vector (d,) of softmax
    regression."""
    return x[:-classes].reshape(classes, -1), x[-classes:]


def scores(x: Vector, examples: Examples) -> tuple[float, float]:
    """Returns the mean loss and the accuracy of softmax regression x (d,), in float64."""
    features, labels = examples[0].reshape(len(examples[0]), -1), examples[1]
    weights, bias = matrix_and_bias(x.astype(np.float64), len(x) // (features.shape[1] + 1))
    logits = features @ weights.T + bias
    logits -= logits.max(axis=1, keepdims=True)
    loss = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(labels)), labels]
    return float(loss.mean()), float((logits.argmax(axis=1) == labels).mean())


def softmax_truth(orders: Orders) -> Outcome:
    """Returns the outcome of federated softmax regression in numpy and float64."""
    (x, labels), clients, all_rows = orders.train, orders.clients, cohorts(orders)
    features, classes = x.reshape(len(x), -1), clients.net.classes

    def step(version: int, x: Doubles) -> Doubles:
        rows = all_rows[version]
        weights, bias = (np.repeat(part[None], len(rows), axis=0) for part in matrix_and_bias(x, classes))
        for own in rows.swapaxes(0, 1):
            batch, wanted = features[own].astype(np.float64), np.eye(classes)[labels[own]]
            logits = batch @ weights.swapaxes(1, 2) + bias[:, None]
            share = np.exp(logits - logits.max(axis=2, keepdims=True))
            slope = (share / share.sum(axis=2, keepdims=True) - wanted) * (clients.lr / batch.shape[1])
            weights, bias = weights - slope.swapaxes(1, 2) @ batch, bias - slope.sum(axis=1)
        ends = np.concatenate([weights.reshape(len(rows), -1), bias], axis=1)
        return np.asarray(x + orders.server_lr * (ends.mean(axis=0) - x))

    accuracies, first = orders.play(orders.x0.astype(np.float64), step, lambda x: scores(x, orders.test)[1])
    return outcome(orders, Finished(accuracies[-1], all_rows[..., 0].size, first))
