"""Federated softmax regression with the models of a round's clients as one tensor: a step of all
clients is two products, and the gradient is written by hand. torch is imported when it starts."""

from __future__ import annotations

import math
from typing import Any

from fedbench.bench.case import Ready
from fedbench.bench.orders import SAMPLE, Clients, Finished, Orders, cohorts, matrix_and_bias, outcome
from fedbench.bench.torch_ways import tensors


def rounds(given: tuple[Orders, Clients]) -> Ready:
    """Makes one run a call, with all data in place. Operations have the threads that torch has, one
    by default: a second one makes such small products slower."""
    import torch

    orders, clients = given
    classes, rate = clients.net.classes, clients.lr
    x0, features, labels, test, wanted = tensors((orders.x0, clients.x, clients.y, *orders.test))
    features, test = features.flatten(1), test.flatten(1)
    all_rows = [torch.from_numpy(rows).long() for rows in cohorts(orders, clients)]

    def one_round(x: Any, rows: Any) -> Any:
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

    def evaluate(x: Any) -> float:
        weights, bias = matrix_and_bias(x, classes)
        logits = torch.addmm(bias, test, weights.T)
        torch.nn.functional.cross_entropy(logits, wanted).item()
        torch.nn.functional.cross_entropy(torch.addmm(bias, features[:SAMPLE], weights.T), labels[:SAMPLE]).item()
        return float((logits.argmax(1) == wanted).float().mean())

    def act() -> Finished:
        x = first = x0
        accuracy, trained = 0.0, 0
        with torch.inference_mode():
            for version in range(len(all_rows) + 1):
                first = x if version == 1 else first
                if version in orders.evaluated:
                    accuracy = evaluate(x)
                if version < len(all_rows):
                    x = one_round(x, all_rows[version])
                    trained += math.prod(all_rows[version].shape[:2])
        return Finished(accuracy, trained, first.numpy())

    return Ready(act, lambda finished: outcome(orders, clients, finished))
