"""What the scheduler draws: distributions, streams, cohorts and replacements."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.stats

from fedbench.kernels.scheduler import NANOSECONDS, Duration, LocalSteps, Timing
from fedbench.types import Rounds, Stream
from tests.kernels.plans import (
    ONE_SECOND,
    chi_square,
    plan,
    selected,
)
from tests.kernels.reference import philox4x32

CLIENTS = 20_000
DRAWN = {
    "uniform": (Duration.uniform(1.0, 4.0), 2.5, 3 / math.sqrt(12)),
    "exponential": (Duration.exponential(3.0), 3.0, 3.0),
    "lognormal": (Duration.lognormal(0.25, 0.5), math.exp(0.375), math.exp(0.375) * math.sqrt(math.expm1(0.25))),
    "pareto": (Duration.pareto(2.0, 5.0), 2.5, math.sqrt(4 * 5 / (16 * 3))),
}


def uniforms(seed: int, purpose: int, client: int, k: int) -> Any:
    """The stream's uniform numbers, from the reference generator's words."""
    for draw in itertools.count():
        block = philox4x32((draw, k, client, purpose), (seed & 0xFFFFFFFF, seed >> 32))
        for high, low in (block[:2], block[2:]):
            yield ((high << 32 | low) >> 11) * 2.0**-53


def normal(u: Any) -> float:
    for a, b in zip(u, u, strict=False):
        x, y = 2 * a - 1, 2 * b - 1
        s = x * x + y * y
        if 0 < s < 1:
            return x * math.sqrt(-2 * math.log(s) / s)
    raise AssertionError


FORMULAS = {
    "uniform": lambda u: 1 + 3 * next(u),
    "exponential": lambda u: -3 * math.log1p(-next(u)),
    "lognormal": lambda u: math.exp(0.25 + 0.5 * normal(u)),
    "pareto": lambda u: 2 * (1 - next(u)) ** (-1 / 5),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_drawn_durations(kind: str) -> None:
    duration, mean, deviation = DRAWN[kind]
    seed = 0x1234_5678_9ABC_DEF0
    p = plan(Timing(clients=CLIENTS, seed=seed, compute=duration, max_updates=2), Rounds())
    seconds = (p["t_finish"] - p["t_start"]) / NANOSECONDS
    assert abs(seconds.mean() - mean) < 5 * deviation / math.sqrt(len(seconds))
    assert abs(seconds.std() / deviation - 1) < 0.1
    for row in (*range(20), *range(CLIENTS, CLIENTS + 20)):
        client, k = int(p["client"][row]), int(p["k"][row])
        assert seconds[row] == pytest.approx(FORMULAS[kind](uniforms(seed, 3, client, k)), rel=1e-13, abs=0.51e-9)
    assert {0, 1} == set(p["k"][[0, CLIENTS]].tolist())


def test_durations_of_download_and_upload_have_their_own_streams() -> None:
    one = Duration.exponential(1.0)
    p = plan(Timing(clients=3, seed=7, compute=one, download=one, upload=one), Rounds())
    for row, client in enumerate(p["client"].tolist()):
        times = [p[name][row] for name in ("t_dispatch", "t_start", "t_finish", "t_arrive")]
        for purpose, (a, b) in zip((4, 3, 5), itertools.pairwise(times), strict=True):
            assert (b - a) / NANOSECONDS == pytest.approx(
                -math.log1p(-next(uniforms(7, purpose, client, 0))), rel=1e-13, abs=0.51e-9
            )


def test_drawn_steps() -> None:
    steps = LocalSteps(normal=(3.0, 4.0))
    timing = Timing(clients=CLIENTS, seed=5, compute=Duration.constant(0.5, per_step=True), steps=steps)
    p = plan(timing, Rounds())
    for row in range(50):
        expected = max(1, math.floor(abs(3 + 2 * normal(uniforms(5, 6, int(p["client"][row]), 0)))))
        assert p["steps"][row] == expected
    assert (p["t_finish"] - p["t_start"] == p["steps"].astype(np.int64) * (NANOSECONDS // 2)).all()
    k = np.arange(2, 12)  # P(K = k) = P(k <= |X| < k + 1), and everything below 2 counts as 1
    z = scipy.stats.norm(3, 2)
    share = np.concatenate([[z.cdf(2) - z.cdf(-2)], z.cdf(k + 1) - z.cdf(k) + z.cdf(-k) - z.cdf(-k - 1)])
    counts = np.bincount(p["steps"], minlength=13)[1:12]
    assert np.abs(counts / CLIENTS - share).max() < 5 * 0.5 / math.sqrt(CLIENTS)


def test_with_replacement_is_uniform_and_counts_multiplicities() -> None:
    p = plan(Timing(clients=10, compute=ONE_SECOND, max_updates=400), Rounds(select="with_replacement", cohort_size=25))
    clients = selected(p)
    assert clients.shape == (400, 25)
    assert chi_square(np.bincount(clients.ravel(), minlength=10), np.full(10, 0.1)) > 1e-6
    # A multinomial has variance n q (1 - q) = 2.25 per client and round, too little or too much
    # would be something else.
    per_round = np.stack([np.bincount(row, minlength=10) for row in clients])
    assert abs(per_round.var() / 2.25 - 1) < 0.1
    assert all(len(set(entries.tolist())) == len(set(row.tolist())) for entries, row in zip(p.entries, clients, strict=True))


def test_weighted_selection_follows_p() -> None:
    weights = np.array([0.5, 0.25, 0.0, 0.2, 0.05])
    p = plan(Timing(clients=5, compute=ONE_SECOND, max_updates=1000), Rounds(select="weighted", cohort_size=10), p=weights)
    counts = np.bincount(selected(p).ravel(), minlength=5)
    assert counts[2] == 0
    assert chi_square(counts[weights > 0], weights[weights > 0]) > 1e-6


def test_without_replacement_is_uniform_over_pairs() -> None:
    p = plan(Timing(clients=5, compute=ONE_SECOND, max_updates=3000), Rounds(select="without_replacement", cohort_size=2))
    pairs = Counter(tuple(sorted(row)) for row in selected(p).tolist())
    assert len(pairs) == 10
    assert all(a != b for a, b in pairs)
    assert chi_square(np.array(list(pairs.values())), np.full(10, 0.1)) > 1e-6


def test_a_round_depends_on_its_own_stream_only() -> None:
    """Round t draws from (seed, selection, 0, t): Fisher-Yates over 0 .. N-1 with words of that
    stream."""
    p = plan(Timing(clients=7, seed=3, compute=ONE_SECOND, max_updates=5), Rounds(select="without_replacement", cohort_size=3))
    for t, clients in enumerate(selected(p).tolist()):
        words = itertools.chain.from_iterable(philox4x32((draw, t, 0, 7), (3, 0)) for draw in itertools.count())
        pool = list(range(7))
        for i in range(3):
            j = i + (next(words) * (7 - i) >> 32)  # below 2^32 / 7 of all words are rejected: none here
            pool[i], pool[j] = pool[j], pool[i]
        assert sorted(pool[:3]) == clients  # consumed in client order, all being equally fast


def test_resampling_is_uniform_over_idle_clients() -> None:
    """Equal, constant speeds and concurrency 1: the replacement is any of the N clients, the
    arrived one included."""
    p = plan(Timing(clients=6, compute=ONE_SECOND, max_updates=6000), Stream(concurrency=1))
    clients = p["client"]
    assert chi_square(np.bincount(clients, minlength=6), np.full(6, 1 / 6)) > 1e-6
    same = float((clients[1:] == clients[:-1]).mean())
    assert abs(same - 1 / 6) < 5 * math.sqrt(5 / 36 / 6000)
