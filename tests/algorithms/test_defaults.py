"""One rule for the defaults of all built-in algorithms (see Algorithm), and its departures with
their reasons.

The rule: a round draws 10 clients uniformly without replacement, a buffer holds 10 arrivals, all
clients work at a time, and the clients of an update count alike. The local rate is 0.05, the
server's rate is 1, and a paper's rate of Adam for another model is scaled to the model at hand.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

from fedbench import kernels as k
from fedbench import registry
from fedbench.descriptions import describe_algorithm
from fedbench.kernels import weights as aggregation_weights
from fedbench.options import sentence
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
    ("delayed_nesterov", "buffer_size"): (None, "Liu et al. 2024 move the momentum after as many arrivals as there are workers"),
    ("fedqs", "restart"): ("self", "its clients work on: who has sent a result starts again"),
    ("fedawe", "sampling"): (
        "all",
        "Xiang et al. 2024 have rounds of whoever is there, and a factor for the rounds that a client missed",
    ),
    ("fedstale", "weights"): ("p", "the objective of Rodio and Neglia 2024, whose code weighs by the numbers of examples"),
    ("generalized_async", "buffer_size"): (1, "Leconte et al. 2024: a task that is done moves the model"),
    ("malenia", "buffer_size"): (None, "Tyurin and Richtarik 2023 need at least N; N is everybody once"),
    ("mifa", "sampling"): (
        "all",
        "Gu et al. 2021 have rounds of whoever is there, the first of them with everybody; the update waits for all to have reported, "
        "which drawn cohorts make long",
    ),
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
    "delayed_nesterov": (
        Stream(concurrency=N, restart="self"),
        "every arrival moves the model; a worker goes on with the newest one",
    ),
    "fedqs": (Stream(concurrency=N, buffer_size=10, restart="self"), "see above"),
    "fedasync": (Stream(concurrency=N), "every arrival is mixed in by itself"),
    "fedawe": (Rounds(select="all", cohort_size=10), "see above"),
    "fedlin": (Rounds(select="all", prelude="every_round", everybody=True), "G is the gradient of the whole objective"),
    "generalized_async": (Stream(concurrency=N, routing=(1 / N,) * N), "as many tasks as clients, which are routed uniformly"),
    "local_only": (Stream(concurrency=N, restart="self"), "a reference: a client goes on by itself, and waits for nobody"),
    "malenia": (
        Stream(concurrency=N, buffer_size=N, close="harmonic", restart="self", max_staleness=0),
        "all compute at the newest model; what is stale is ignored",
    ),
    "mifa": (Rounds(select="all", cohort_size=10), "see above"),
    "msync": (Rounds(select="all"), "see above"),
    "rescaled_asgd": (Stream(concurrency=N, restart="self"), "asynchronous SGD: all work, and every arrival is an update"),
    "rennala": (Stream(concurrency=N, buffer_size=10, restart="self", max_staleness=0), "as malenia"),
    "ringmaster": (Stream(concurrency=N, restart="self", max_staleness=N - 1), "what is staler than R - 1 is refused"),
    "ringleader": (Turns(), "a round is made of every client's turn"),
    "fedsgd": (Rounds(select="all", steps=1, everybody=True), "a reference: the gradient of the whole objective"),
}
NOT_UNIFORM = {
    "fedagrac": "the paper's p_i, where all take part",
    "fedlin": "G = sum p_i grad F_i fixes p",
    "fedsgd": "see above",
    "fedstale": "its paper's p_i over the probabilities of taking part",
}
SCALED = {"fadas": ("server_lr", 1e-4), "fedac": ("server_lr", 1e-4), "fedecho": ("distill_lr", 3e-6)}
"""The option, and the rate for ResNet-18, of the algorithms whose step moves each parameter by
about the rate, whatever the gradient, and for which a paper has a rate for another model."""
RATES: dict[tuple[str, str], tuple[Any, str]] = {
    ("ace", "server_lr"): (None, "1/N: every Delta counts in about N updates"),
    ("aced", "server_lr"): (None, "as ace"),
    ("asysg", "server_lr"): (0.1, "a rate of gradients, not of progress; Wang et al. 2024 (DeFedAvg), Table 2, for every n"),
    ("defedavg_iid", "server_lr"): (0.1, "its paper's Table 2 has 0.1 in 7 of 10 cells, and 1 in those with n = 80"),
    ("defedavg_niid", "server_lr"): (0.1, "its paper's Table 2 has 0.1 in every cell that can be read"),
    ("delayed_nesterov", "server_lr"): (0.7, "Liu et al. 2024, as public implementations have it"),
    ("favano", "local_lr"): (0.1, "a poll moves the model by about one average gradient; Wang et al. 2024 (DeFedAvg), Table 2"),
    ("fadas", "server_lr"): (None, "a step of AMSGrad, scaled: see SCALED"),
    ("fedac", "server_lr"): (None, "a step of Adam, scaled: see SCALED"),
    ("fedadam", "server_lr"): (
        0.01,
        "ours, and not scaled: Reddi et al. 2021 tune it for every task, no rate is of one model, and eps = 1e-3 bounds the step where "
        "progress is small",
    ),
    ("fedadagrad", "server_lr"): (0.01, "as fedadam"),
    ("fedyogi", "server_lr"): (0.01, "as fedadam"),
    ("generalized_async", "server_lr"): (None, "1/C: a task counts once in C updates"),
    ("rescaled_asgd", "server_lr"): (None, "1/N: every client counts once in N updates"),
    ("ringleader", "server_lr"): (None, "1/N: a mean counts in up to N updates"),
    ("ringmaster", "server_lr"): (None, "1/R: an arrival may be R updates old"),
}
USUAL_RATES = {"local_lr": 0.05, "server_lr": 1.0}
NAMES = sorted(registry.ALGORITHMS)


@pytest.mark.parametrize("name", NAMES)
def test_options_follow_the_rule(name: str) -> None:
    cls = registry.find("algorithm", name)
    for field in dataclasses.fields(cls):
        if field.name in RULE:
            expected, _ = DEPARTURES.get((name, field.name), (RULE[field.name], ""))
            assert field.default == expected, field.name


@pytest.mark.parametrize("name", NAMES)
def test_rates_follow_the_rule(name: str) -> None:
    for field in dataclasses.fields(registry.find("algorithm", name)):
        if field.name in USUAL_RATES:
            expected, reason = RATES.get((name, field.name), (USUAL_RATES[field.name], "the rule"))
            assert field.default == expected, field.name
            assert ((name, field.name) in RATES) == (expected != USUAL_RATES[field.name])
            assert reason


@pytest.mark.parametrize(("name", "option", "rate"), [(name, *row) for name, row in SCALED.items()])
def test_rates_for_another_model_are_scaled_by_one_rule(name: str, option: str, rate: float) -> None:
    """The default says so in one sentence, and ResNet-18 has the paper's rate."""
    cls = registry.find("algorithm", name)
    (field,) = (one for one in dataclasses.fields(cls) if one.name == option)
    assert field.default is None
    assert re.search(
        rf"none: [\w' ]*{rate:.0e} for ResNet-18, times sqrt\(11173962 / d\)".replace("e-0", "e-"), sentence(cls, option)
    )
    assert k.rate_for(11_173_962, rate) == rate
    assert k.rate_for(11_173_962 // 4, rate) == pytest.approx(2 * rate, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_every_default_has_a_source(name: str) -> None:
    """`fedbench info` shows it."""
    for row in describe_algorithm(registry.find("algorithm", name))["options"]:
        assert row["source"], row["name"]


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
