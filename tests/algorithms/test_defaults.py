"""One rule for the defaults of all built-in algorithms (see Algorithm), and its departures with
their reasons.

The rule: a round draws 10 clients uniformly without replacement, a buffer holds 10 arrivals, all
clients work at a time, and the clients of an update count alike. Rates are free.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.kernels import weights as aggregation_weights
from fedbench.types import Broadcast, Info, Mailbox, Poll, Rounds, Stream, Turns
from tests.algorithms.by_hand import arrivals

N = 100
RULE: dict[str, Any] = {
    "cohort_size": 10,
    "sampling": "without_replacement",
    "buffer_size": 10,
    "concurrency": None,
    "restart": "resample",
    "weights": "uniform",
}
DEPARTURES: dict[tuple[str, str], tuple[Any, str]] = {
    ("ace", "buffer_size"): (1, "the rule of Chang et al. 2025 has no buffer: every arrival is an update"),
    ("ace", "restart"): ("self", "every client is always engaged: who has arrived gets the new model"),
    ("aced", "buffer_size"): (1, "as ace"),
    ("aced", "restart"): ("self", "as ace"),
    ("area", "buffer_size"): (
        1,
        "Iakovidou and Kim 2024 ask how often the server should update; at every arrival is the plain rule",
    ),
    ("fedawe", "sampling"): (
        "all",
        "Xiang et al. 2024 have rounds of whoever is there, and a factor for the rounds that a client missed",
    ),
    ("fedstale", "weights"): ("p", "the objective of Rodio and Neglia 2024, whose code weighs by the numbers of examples"),
    ("generalized_async", "buffer_size"): (1, "Leconte et al. 2024: a task that is done moves the model"),
    ("malenia", "buffer_size"): (None, "Tyurin and Richtarik 2023 need at least N; N is everybody once"),
    ("msync", "cohort_size"): (
        None,
        "m results of all clients, who all start; no cohort is drawn, and no m is published as usual",
    ),
    ("fedsgd", "weights"): ("p", "a reference: gradient descent on the pooled data, which weights p make it"),
}
DISPATCH: dict[str, tuple[Any, str]] = {
    "ace": (Stream(concurrency=N, restart="self"), "see above"),
    "aced": (Stream(concurrency=N, restart="self"), "as ace"),
    "area": (Stream(concurrency=N, restart="self"), "see above; a client that has sent its model starts again"),
    "asysg": (Stream(concurrency=N, buffer_size=10, restart="self", steps=1), "a client pulls again as soon as it has pushed"),
    "centralised": (Rounds(select="all"), "there is one worker only"),
    "defedavg_niid": (Mailbox(cohort_size=10), "draws are with replacement, which the proof of its Algorithm 1 needs"),
    "fedasync": (Stream(concurrency=N), "every arrival is mixed in by itself"),
    "fedawe": (Rounds(select="all", cohort_size=10), "see above"),
    "fedlin": (Rounds(select="all", prelude="every_round", everybody=True), "G is the gradient of the whole objective"),
    "generalized_async": (Stream(concurrency=N, routing=(1 / N,) * N), "as many tasks as clients, which are routed uniformly"),
    "malenia": (
        Stream(concurrency=N, buffer_size=N, close="harmonic", restart="self", max_staleness=0),
        "all compute at the newest model; what is stale is ignored",
    ),
    "msync": (Rounds(select="all"), "see above"),
    "rennala": (Stream(concurrency=N, buffer_size=10, restart="self", max_staleness=0), "as malenia"),
    "ringmaster": (Stream(concurrency=N, restart="self", max_staleness=N - 1), "what is staler than R - 1 is refused"),
    "ringleader": (Turns(), "a round is made of every client's turn"),
    "fedsgd": (Rounds(select="all", steps=1, everybody=True), "a reference: the gradient of the whole objective"),
}
NOT_UNIFORM = {
    "fedagrac": "the paper's p_i, where all take part",
    "fedlin": "G = sum p_i grad F_i fixes p",
    "fedsgd": "see above",
}
NAMES = sorted(registry.ALGORITHMS)


@pytest.mark.parametrize("name", NAMES)
def test_options_follow_the_rule(name: str) -> None:
    cls = registry.find("algorithm", name)
    for field in dataclasses.fields(cls):
        if field.name in RULE:
            expected, _ = DEPARTURES.get((name, field.name), (RULE[field.name], ""))
            assert field.default == expected, field.name


@pytest.mark.parametrize("name", NAMES)
def test_dispatch_follows_the_rule(name: str) -> None:
    """What a plan sees, on 100 clients: also algorithms without such options follow it."""
    got = registry.algorithm(name).dispatch(Info(N, np.ones(N)))
    if name in DISPATCH:
        assert got == DISPATCH[name][0]
        return
    usual = {
        Rounds: Rounds(select="without_replacement", cohort_size=10),
        Stream: Stream(concurrency=N, buffer_size=10),
        Broadcast: Broadcast(buffer_size=10),
        Poll: Poll(cohort_size=10),
    }[type(got)]
    assert dataclasses.replace(got, prelude=False) == usual


@pytest.mark.parametrize("name", NAMES)
def test_clients_count_alike(name: str) -> None:
    """Also where there is no option `weights`: the buffers of models, which are averaged as the
    models are."""
    algorithm = registry.algorithm(name)
    info = Info(3, np.array([1.0, 2.0, 5.0]))
    batch = dataclasses.replace(arrivals([2, 0, 1], delta=np.zeros((3, 2))), n=info.n[[2, 0, 1]], p=info.p[[2, 0, 1]])
    even = np.allclose(algorithm.entry_weights(batch, info), aggregation_weights("uniform", batch, info))
    assert even == (name not in NOT_UNIFORM)


def test_every_departure_is_one() -> None:
    for (name, field), (value, reason) in DEPARTURES.items():
        assert value != RULE[field]
        assert reason
        assert field in {one.name for one in dataclasses.fields(registry.find("algorithm", name))}
    assert set(DISPATCH) | set(NOT_UNIFORM) <= set(NAMES)
