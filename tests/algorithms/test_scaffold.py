"""SCAFFOLD by hand (problem of by_hand.py), its invariant, and its fixed point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.scaffold import Scaffold
from fedbench.types import Rounds
from tests.algorithms.by_hand import many_clients, run, two_clients


def scaffold(**options: Any) -> Scaffold:
    return Scaffold(**({"local_lr": 0.25, "sampling": "all"} | options))


def test_two_rounds_of_option_2() -> None:
    """Round 1, c = c_i = 0, is FedAvg's: x1 = (17/16, 33/16); c_0 = (7/4, 6), c_1 = (6, 7/4), c = (31/8, 31/8).

    Round 2, corrections c - c_0 = (17/8, -17/8), c - c_1 = (-17/8, 17/8):
        client 0: g = (1/16, 33/8),   step (35/16, 2)    -> (33/64, 25/16);   g = (-31/64, 25/8),  step (105/64, 1) -> (27/256, 21/16)
        client 1: g = (33/8, 1/16),   step (2, 35/16)    -> (9/16, 97/64);    g = (25/8, -31/64),  step (1, 105/64) -> (5/16, 283/256)
    x2 = (107/512, 619/512);  c_0 = mean of its g = (-27/128, 29/8), c_1 = (29/8, -27/128), c = (437/256, 437/256).
    """
    trace = run(scaffold(), two_clients(), 2)
    assert trace.x[1].tolist() == [17 / 16, 33 / 16]
    assert trace.x[2].tolist() == [107 / 512, 619 / 512]
    assert trace.state.c.tolist() == [437 / 256, 437 / 256]
    assert trace.state.memory.dense().tolist() == [[-27 / 128, 29 / 8], [29 / 8, -27 / 128]]
    first = run(scaffold(), two_clients(), 1).state
    assert first.c.tolist() == [31 / 8, 31 / 8]
    assert first.memory.dense().tolist() == [[7 / 4, 6], [6, 7 / 4]]


def test_every_step_is_corrected() -> None:
    """Round 2 of client 0 alone, from x1 of everybody: its end above. In the mean of both clients
    the corrections cancel."""
    trace = run(scaffold(), two_clients(), 2, dispatch=Rounds(select="scripted", selections=((0, 1), (0,))))
    assert trace.x[2].tolist() == [27 / 256, 21 / 16]


def test_option_1_and_initial_gradients() -> None:
    """c_i = grad F_i at the received model. At x0: g_0 = (2, 8), g_1 = (8, 2), mean (5, 5).

    init_control "grad" corrects already in round 1 by (3, -3) and (-3, 3):
        client 0: step (2 + 3, 8 - 3) -> (7/4, 11/4);  g = (3/4, 11/2), step (15/4, 5/2) -> (13/16, 17/8)
        client 1: step (8 - 3, 2 + 3) -> (7/4, 11/4);  g = (11/2, 3/4), step (5/2, 15/4) -> (9/8, 29/16)
    """
    late = run(scaffold(option=1), two_clients(), 1)
    assert late.x[1].tolist() == [17 / 16, 33 / 16]
    early = run(scaffold(option=1, init_control="grad"), two_clients(), 1)
    assert early.x[1].tolist() == [(13 / 16 + 9 / 8) / 2, (17 / 8 + 29 / 16) / 2]
    for trace in (late, early):
        assert trace.state.memory.dense().tolist() == [[2, 8], [8, 2]]
        assert trace.state.c.tolist() == [5, 5]


def test_partial_participation() -> None:
    """Only client 1: x1 = x0 + Delta_1, c moves by 1/N of its change: (6, 7/4) / 2; client 0 keeps
    0."""
    trace = run(scaffold(), two_clients(), 1, dispatch=Rounds(select="scripted", selections=((1,),)))
    assert trace.x[1].tolist() == [0, 25 / 8]
    assert trace.state.c.tolist() == [3, 7 / 8]
    assert trace.state.memory.dense().tolist() == [[0, 0], [6, 7 / 4]]
    assert trace.state.memory.written() == [1]


def test_weights_p() -> None:
    """p = (1/4, 3/4) in both lines: x1 = (17/32, 83/32), c = 1/4 (7/4, 6) + 3/4 (6, 7/4) = (79/16, 45/16)."""
    trace = run(scaffold(weights="p"), two_clients(), 1)
    assert trace.x[1].tolist() == [17 / 32, 83 / 32]
    assert trace.state.c.tolist() == [79 / 16, 45 / 16]


def test_weight_decay_is_part_of_the_initial_controls() -> None:
    """As of all later ones: c_0 = grad F_0(x0) + x0 / 2, and client 0 still has its first."""
    only = Rounds(select="scripted", selections=((1,),))
    state = run(scaffold(init_control="grad", weight_decay=0.5), two_clients(), 1, dispatch=only).state
    assert state.memory[0].tolist() == [2 + 3 / 2, 8 + 4 / 2]


def test_c_stays_the_mean_of_the_c_i() -> None:
    """Under partial participation too."""
    problem = many_clients(6, 3, seed=8)
    for updates in range(1, 12):
        state = run(scaffold(sampling="without_replacement", cohort_size=2), problem, updates, x0=np.ones(3)).state
        assert state.c == pytest.approx(state.memory.dense().mean(axis=0), rel=1e-12, abs=1e-14)
        assert state.memory.count <= 2 * updates
