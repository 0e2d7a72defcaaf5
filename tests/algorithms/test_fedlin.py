"""FedLin by hand (problem of by_hand.py), its fixed point, and what it does with mini-batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedlin import FedLin
from fedbench.engine.trainers.base import Assignment
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.errors import UsageError
from fedbench.kernels.random import draw_batches
from fedbench.proof.problems import Softmax
from fedbench.types import Info, Job, Message, Rounds
from tests.algorithms.by_hand import many_clients, quadratic, run, two_clients


def fedlin(**options: Any) -> FedLin:
    return FedLin(**({"local_lr": 0.5} | options))


def test_one_round() -> None:
    """Rate 1/2 / 2 = 1/4. At x0 g_0 = (2, 8), g_1 = (8, 2), G = 1/4 g_0 + 3/4 g_1 = (13/2, 7/2).

    G - g_0 = (9/2, -9/2), G - g_1 = (-3/2, 3/2). Both step by G to (11/8, 25/8); then
        client 0: g = (3/8, 25/4), step (39/8, 7/4)   -> (5/32, 43/16)
        client 1: g = (19/4, 9/8), step (13/4, 21/8)  -> (9/16, 79/32)
    """
    trace = run(fedlin(), two_clients(), 1)
    assert trace.x[1].tolist() == [59 / 128, 323 / 128]
    half = run(fedlin(server_lr=0.5), two_clients(), 1)
    assert half.x[1].tolist() == [(3 + 59 / 128) / 2, (4 + 323 / 128) / 2]


def test_one_local_step_is_gradient_descent() -> None:
    problem, x0 = many_clients(5, 3, seed=1), np.array([1.0, -2.0, 0.5])
    x = x0
    for got in run(fedlin(local_lr=0.125), problem, 20, steps=1, x0=x0).x[1:]:
        x = x - 0.125 * sum(p * A @ (x - c) for p, A, c in zip(problem.weights, problem.A, problem.c, strict=True))
        assert got == pytest.approx(x, rel=1e-13)


def test_identical_clients_need_no_correction() -> None:
    """Local gradient descent with rate local_lr / K_i, for unequal K too."""
    A, c, steps = np.diag([1.0, 2.0]), np.array([1.0, -1.0]), (1, 4)
    trace = run(fedlin(), quadratic([A, A], [c, c], [1, 1]), 3, steps=steps)
    x = trace.x[0]
    for got in trace.x[1:]:
        x = sum(c + np.linalg.matrix_power(np.eye(2) - 0.5 / K * A, K) @ (x - c) for K in steps) / 2
        assert got == pytest.approx(x, rel=1e-14)


def test_both_gradients_are_of_the_same_mini_batch() -> None:
    """y - rate (g(y; B) - g(x; B) + G): at y = x the batch does not matter."""
    random = np.random.default_rng(0)
    X, y = random.standard_normal((12, 3)), random.integers(0, 2, 12)
    objective = Softmax(np.array([12.0]), np.ones(1), 8, 2, 3, 0.0, [X], [y])
    x, G = random.standard_normal(8), random.standard_normal(8)
    job, trainer = Job(0, 0, 0, 2), ReferenceTrainer(objective, dtype=np.float64, batch_size=4)
    rule = fedlin().local(Message(x=x, G=G), job, np.empty(0))
    (work,) = trainer.train([Assignment(job, rule, np.empty(0))])
    rows, _ = draw_batches(0, 0, 0, 12, 4, 2)
    first = x - 0.25 * G
    second = first - 0.25 * (objective.gradient(0, first, rows[4:]) - objective.gradient(0, x, rows[4:]) + G)
    assert work.end == pytest.approx(second, rel=1e-14)


def test_what_it_declares() -> None:
    info = Info(2, np.ones(2))
    assert fedlin().traffic(info) == (2, 2, 2)
    assert fedlin().dispatch(info) == Rounds(select="all", prelude="every_round", everybody=True)


def test_everybody_takes_part() -> None:
    with pytest.raises(UsageError, match="every one of the 2 clients exactly once"):
        run(fedlin(), two_clients(), 1, dispatch=Rounds(select="scripted", selections=((1,),)))
