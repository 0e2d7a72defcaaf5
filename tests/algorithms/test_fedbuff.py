"""FedBuff by hand (problem of by_hand.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbench.algorithms.fedbuff import FedBuff
from tests.algorithms.by_hand import D1, run, two_clients


def fedbuff(**options: Any) -> FedBuff:
    return FedBuff(**({"local_lr": 0.25, "buffer_size": 2} | options))


def test_stale_arrival_in_a_buffer_of_two() -> None:
    """Client 0 takes 1 s, client 1 takes 6.5 s: updates at 2, 4, 6 s by client 0 alone, twice from
    one version each.

    Client 0 maps z to (9/16 z1 + 7/16, z2 / 4), so x1 = (17/8, 1), x2 = (209/128, 1/4), x3 = (2777/2048, 1/16).
    At 6.5 s client 1 arrives from version 0 with tau = 3, s = (1 + 3)^(-1/2) = 1/2; at 7 s client 0 from version 3, tau = 0:
        x4 = x3 + 1/2 (1/2 Delta_1(x0) + Delta_0(x3)),   Delta_0(x3) = (7/16 (1 - 2777/2048), -3/4 * 1/16)
    """
    trace = run(fedbuff(scaling="sqrt"), two_clients(), 4, seconds=(1, 6.5))
    assert trace.seconds == [2.0, 4.0, 6.0, 7.0]
    assert trace.consumed() == [(0, 0), (0, 0), (0, 1), (0, 1), (0, 2), (0, 2), (1, 0), (0, 3)]
    assert [x.tolist() for x in trace.x[1:4]] == [[17 / 8, 1], [209 / 128, 1 / 4], [2777 / 2048, 1 / 16]]
    fresh = np.array([7 / 16 * (1 - 2777 / 2048), -3 / 64])
    assert trace.x[4].tolist() == (trace.x[3] + (D1 / 2 + fresh) / 2).tolist()
    assert trace.x[4].tolist() == [34609 / 65536, -23 / 128]

    plain = run(fedbuff(scaling="none", server_lr=0.5), two_clients(), 1, seconds=(1, 6.5))
    assert plain.x[1].tolist() == [3 - 7 / 16, 4 - 3 / 2]


def test_dispatch_before_update_gives_the_old_model() -> None:
    """The replacement of the arrival that fills the buffer starts from version 0 instead of 1."""
    bases = {}
    for before in (False, True):
        trace = run(fedbuff(buffer_size=1, dispatch_before_update=before), two_clients(), 3, seconds=(1, 50))
        bases[before] = [base for _, base in trace.consumed()]
    assert bases == {False: [0, 1, 2], True: [0, 0, 1]}
