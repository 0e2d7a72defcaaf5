"""Federated softmax regression with the models of a round's clients as one tensor: a step of all
clients is two products, and the gradient is written by hand."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from fedbench.bench.case import Ready
from fedbench.bench.orders import SAMPLE, Finished, Orders, cohorts, matrix_and_bias, outcome
from fedbench.bench.torch_ways import tensors


def rounds(orders: Orders) -> Ready:
    """Makes one run a call, with all data in place. Operations have the threads that torch has, one
    by default: a second one makes such small products slower."""
    clients = orders.clients
    classes, rate = clients.net.classes, clients.lr
    x0, features, labels, test, wanted = tensors((orders.x0, *orders.train, *orders.test))
    features, test = features.flatten(1), test.flatten(1)
    all_rows = torch.from_numpy(cohorts(orders)).long()

    def one_round(version: int, x: Tensor) -> Tensor:
        rows = all_rows[version]
        cohort, steps, batch = rows.shape
        weights, bias = (part.expand(cohort, *part.shape).clone() for part in matrix_and_bias(x, classes))
        for step in range(steps):
            own = rows[:, step].reshape(-1)
            inputs = features.index_select(0, own).view(cohort, batch, -1)
            slope = torch.baddbmm(bias.unsqueeze(1), inputs, weights.transpose(1, 2)).softmax(2)
            picked = labels.index_select(0, own).view(cohort, batch, 1)
            slope.scatter_add_(2, picked, slope.new_full((), -1.0).expand(picked.shape))
            weights.baddbmm_(slope.transpose(1, 2), inputs, alpha=-rate / batch)
            bias.sub_(slope.sum(1), alpha=rate / batch)
        mean = torch.cat([weights.mean(0).reshape(-1), bias.mean(0)])
        return x + orders.server_lr * (mean - x)

    def evaluate(x: Tensor) -> float:
        weights, bias = matrix_and_bias(x, classes)
        logits = torch.addmm(bias, test, weights.T)
        torch.nn.functional.cross_entropy(logits, wanted).item()
        torch.nn.functional.cross_entropy(torch.addmm(bias, features[:SAMPLE], weights.T), labels[:SAMPLE]).item()
        return float((logits.argmax(1) == wanted).float().mean())

    def act() -> Finished:
        with torch.inference_mode():
            accuracies, first = orders.play(x0, one_round, evaluate)
        return Finished(accuracies[-1], all_rows[..., 0].numel(), first.numpy())

    return Ready(act, partial(outcome, orders))
