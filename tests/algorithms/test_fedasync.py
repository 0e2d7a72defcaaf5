"""FedAsync by hand (problem of by_hand.py) and its sequential limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedasync import FedAsync
from tests.algorithms.by_hand import X0, many_clients, run, two_clients


def fedasync(**options: Any) -> FedAsync:
    return FedAsync(**({"local_lr": 0.25, "mixing": 0.5, "prox": 1.0} | options))


# With prox = 1 the second local step sees prox (y_1 - x0); the first sees 0.
#   client 0: (3, 4) -> (5/2, 2);   g = (3/2, 4), e = (-1/2, -2)  ->  (5/2 - 1/4, 2 - 1/2)  = (9/4, 3/2)
#   client 1: (3, 4) -> (1, 7/2);   g = (4, 3/2), e = (-2, -1/2)  ->  (1 - 1/2, 7/2 - 1/4)  = (1/2, 13/4)
# Client 0 arrives at 1 s, tau = 0:  x1 = 1/2 (3, 4) + 1/2 (9/4, 3/2) = (21/8, 11/4).
# Client 1 arrives at 1.5 s from version 0, tau = 1:  x2 = (1 - al) x1 + al (1/2, 13/4), al = s(tau) / 2.
X1, Y1 = np.array([21 / 8, 11 / 4]), np.array([1 / 2, 13 / 4])


@pytest.mark.parametrize(
    ("options", "first", "al"),
    [
        ({"staleness": "constant"}, 1 / 2, 1 / 2),
        ({"staleness": "poly", "a": 1.0}, 1 / 2, 1 / 4),  # 1 / (1 + 1)
        ({"staleness": "hinge", "a": 3.0, "b": 0.0}, 1 / 2, 1 / 8),  # 1 / (3 * 1 + 1)
        ({"staleness": "hinge", "a": 3.0, "b": 1.0}, 1 / 2, 1 / 2),
        ({"staleness": "hinge", "b": 0.0}, 1 / 2, 1 / 22),  # the paper's a of hinge: 1 / (10 * 1 + 1)
        ({"staleness": "poly"}, 1 / 2, 2**-1.5),  # and of poly: (1 + 1)^(-1/2)
        ({"staleness": "poly", "a": 2.0, "paper_offset": True}, 1 / 8, 1 / 18),  # tau counts from 1
    ],
)
def test_two_arrivals(options: dict[str, Any], first: float, al: float) -> None:
    trace = run(fedasync(**options), two_clients(), 2, seconds=(1, 1.5))
    assert trace.seconds == [1.0, 1.5]
    assert trace.consumed() == [(0, 0), (1, 0)]
    x1 = (1 - first) * X0 + first * np.array([9 / 4, 3 / 2])
    if first == 1 / 2:
        assert x1.tolist() == X1.tolist()
    assert trace.x[1] == pytest.approx(x1, rel=1e-15)
    assert trace.x[2] == pytest.approx((1 - al) * x1 + al * Y1, rel=1e-15)


def test_numbers_of_the_poly_rule() -> None:
    """x2 = 3/4 (21/8, 11/4) + 1/4 (1/2, 13/4) = (67/32, 23/8); exact."""
    trace = run(fedasync(staleness="poly", a=1.0), two_clients(), 2, seconds=(1, 1.5))
    assert trace.x[1].tolist() == [21 / 8, 11 / 4]
    assert trace.x[2].tolist() == [67 / 32, 23 / 8]


def test_one_client_at_a_time_is_sequential_sgd() -> None:
    """mixing 1, constant, no prox, concurrency 1: the model visits the clients one after another, K
    steps each."""
    problem, x0 = many_clients(4, 3, seed=3), np.array([2.0, -1.0, 0.5])
    trace = run(fedasync(mixing=1.0, staleness="constant", prox=0.0, concurrency=1), problem, 30, steps=3, x0=x0)
    x, visited = x0, [client for client, _ in trace.consumed()]
    assert len(set(visited)) > 1
    for client, got in zip(visited, trace.x[1:], strict=True):
        for _ in range(3):
            x = x - 0.25 * problem.A[client] @ (x - problem.c[client])
        assert got == pytest.approx(x, rel=1e-14)


def test_mixing_zero_stands_still() -> None:
    trace = run(fedasync(mixing=0.0), two_clients(), 3)
    assert all(np.array_equal(x, X0) for x in trace.x)
