"""FedSGD by hand (problem of by_hand.py), and against gradient descent on the pooled data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.centralised import Centralised
from fedbench.algorithms.fedsgd import FedSGD
from fedbench.errors import UsageError
from fedbench.proof.problems import Softmax
from fedbench.types import Rounds
from tests.algorithms.by_hand import run, two_clients


@pytest.mark.parametrize(
    ("options", "expected"),
    [  # g_0 = (2, 8), g_1 = (8, 2), whatever the steps that the problem asks for
        ({}, (3 - 13 / 8, 4 - 7 / 8)),
        ({"server_lr": 2.0}, (3 - 13 / 4, 4 - 7 / 4)),
        ({"weights": "uniform"}, (3 - 5 / 4, 4 - 5 / 4)),
    ],
)
def test_one_round(options: dict[str, Any], expected: tuple[float, float]) -> None:
    assert run(FedSGD(local_lr=0.25, **options), two_clients(), 1, steps=7).x[1].tolist() == list(expected)


def test_who_is_missing() -> None:
    only = Rounds(select="scripted", selections=((1,),), steps=1)
    trace = run(FedSGD(local_lr=0.25, weights="p_normalised"), two_clients(), 1, dispatch=only)
    assert trace.x[1].tolist() == [3 - 2, 4 - 1 / 2]
    with pytest.raises(UsageError, match="every one of the 2 clients exactly once"):
        run(FedSGD(local_lr=0.25), two_clients(), 1, dispatch=only)


def test_gradient_descent_on_the_pooled_data() -> None:
    """Step by step with `centralised`, whose worker has all rows; the pooled loss falls in every
    step for rates below 2/L."""
    random = np.random.default_rng(3)
    sizes = [3, 9, 1, 5]
    X = [random.standard_normal((n, 4)) for n in sizes]
    y = [random.integers(0, 3, n) for n in sizes]
    n = np.array(sizes, np.float64)
    clients = Softmax(n, n / n.sum(), 15, 3, 4, 0.01, X, y)
    pool = Softmax(n.sum(keepdims=True), np.ones(1), 15, 3, 4, 0.01, [np.concatenate(X)], [np.concatenate(y)])
    x0 = random.standard_normal(15)
    parts = run(FedSGD(local_lr=0.3), clients, 40, x0=x0)
    whole = run(Centralised(local_lr=0.3), pool, 40, steps=1, x0=x0)
    assert np.stack(parts.x) == pytest.approx(np.stack(whole.x), rel=1e-11, abs=1e-13)
    losses = [pool.metrics(x)["train_loss"] for x in whole.x]
    assert (np.diff(losses) < 0).all()
