"""Relations between asynchronous algorithms, and between them and the synchronous ones; and what
holds for all of them.

Runs on quadratics with the plan of the real scheduler. Five clients, unequal local steps, unless a
row says otherwise.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms.ace import ACE
from fedbench.algorithms.ca2fl import CA2FL
from fedbench.protocols import Algorithm, Tools
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Mailbox, Poll, Rounds, State, Stream
from tests.algorithms.by_hand import Trace, arrivals, many_clients, run, serve

N, UPDATES = 5, 12
EQUAL, UNEQUAL = (1.5,), (1.0, 3.25, 0.5, 2.0, 1.75)
UNTIED = (1.01, 3.27, 0.53, 2.09, 1.77)  # nobody arrives together with another
TWICE = ((0, 0, 1, 2, 3, 4),) * UPDATES  # client 0 counts twice
LATE = {"period_seconds": 99.0, "max_steps": 3}  # a poll that finds everybody done


class Frozen(CA2FL):
    """CA2FL whose caches stay 0."""

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.h_i = ClientTable(tools.info.clients, state.h_i.default)
        super().step(state, batch, tools)


def make(selector: str | Algorithm) -> Algorithm:
    return dataclasses.replace(registry.algorithm(selector), local_lr=0.1) if isinstance(selector, str) else selector


def trace_of(algorithm: str | Algorithm, dtype: Any = np.float64, clients: int = N, **options: Any) -> Trace:
    problem, x0 = many_clients(clients, 3, seed=4, dtype=dtype), np.array([1.0, 2.0, -1.0], dtype)
    return run(make(algorithm), problem, **({"updates": UPDATES, "steps": (1, 4, 2, 3, 2)[:clients], "x0": x0} | options))


def same_bits(a: Trace, b: Trace) -> bool:
    return [x.tobytes() for x in a.x] == [x.tobytes() for x in b.x]


def check_relation(left: Any, right: Any, timing: dict[str, Any], bits: bool, dtype: Any) -> None:
    """Both sides have the same plan and move; their models are the same bits, or the same up to
    rounding."""
    a, b = (trace_of(algorithm, dtype, upload=0.25, **timing) for algorithm in (left, right))
    assert a.seconds == b.seconds
    assert a.consumed() == b.consumed()
    assert np.abs(a.x[-1] - a.x[0]).max() > 0.1
    if bits:
        assert same_bits(a, b)
    else:
        assert distance(a, b) < 10 * np.finfo(dtype).eps


def distance(a: Trace, b: Trace) -> float:
    """Largest difference of the versions' models, whose elements are of the order of 1."""
    return float(np.abs(np.stack(a.x) - np.stack(b.x)).max())


# ---- the same events, and the same models
# -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("left", "right", "timing", "bits"),
    [
        ("fedbuff[buffer_size=5]", "fedavg[sampling=all]", {"seconds": EQUAL}, True),
        (
            "fedbuff[buffer_size=5,restart=self,scaling=sqrt,server_lr=0.75]",
            "fedavg[sampling=all,server_lr=0.75]",
            {"seconds": EQUAL},
            True,
        ),
        ("defedavg_iid[cohort_size=5,server_lr=1]", "fedavg[sampling=all]", {"seconds": EQUAL}, True),
        ("defedavg_iid[cohort_size=5,server_lr=0.5]", "fedavg[sampling=all,server_lr=0.5]", {"seconds": UNEQUAL}, True),
        (
            "defedavg_iid[cohort_size=3,receive=peek,server_lr=1]",
            "fedbuff[buffer_size=3,restart=self]",
            {"seconds": UNEQUAL},
            True,
        ),
        ("ca2fl[buffer_size=3]", "fedbuff[buffer_size=3]", {"seconds": UNEQUAL, "updates": 1}, True),
        (Frozen(local_lr=0.1, buffer_size=3), "fedbuff[buffer_size=3]", {"seconds": UNEQUAL}, True),
        ("ca2fl[buffer_size=5]", "fedavg[sampling=all]", {"seconds": EQUAL}, False),
        ("ca2fl[buffer_size=5,cache=immediate,h_norm=seen]", "fedavg[sampling=all]", {"seconds": EQUAL}, False),
        ("ace[buffer_size=5,server_lr=1]", "fedavg[sampling=all]", {"seconds": EQUAL}, False),
        ("ace[buffer_size=5,server_lr=1,start=seen]", "fedavg[sampling=all]", {"seconds": EQUAL}, False),
        ("mifa[sampling=all]", "fedavg[sampling=all]", {"seconds": UNEQUAL}, False),
        (
            "mifa[sampling=all,average=nonempty,start=wait_all,server_lr=0.5]",
            "fedavg[sampling=all,server_lr=0.5]",
            {"seconds": UNEQUAL},
            False,
        ),
        ("fadas[delay_adaptive=true,delay_threshold=9,server_lr=0.1]", "fadas[server_lr=0.1]", {"seconds": UNEQUAL}, True),
        (
            "fadas[delay_adaptive=true,delay_threshold=0,buffer_size=5,server_lr=0.1]",
            "fadas[buffer_size=5,server_lr=0.1]",
            {"seconds": EQUAL},
            True,
        ),
        (
            "fadas[buffer_size=5,server_lr=0.1,beta1=0.8,beta2=0.95,eps=0.001,bias_correction=false]",
            "fedadam[sampling=all,amsgrad=true,server_lr=0.1,beta1=0.8,beta2=0.95,eps=0.001]",
            {"seconds": EQUAL},
            True,
        ),
        (
            "fedbuff[buffer_size=1,concurrency=1,server_lr=0.6]",
            "fedasync[mixing=0.6,staleness=constant,prox=0,concurrency=1]",
            {"seconds": UNEQUAL},
            False,
        ),
        ("port[buffer_size=1,server_lr=0.5]", "fedbuff[buffer_size=1,server_lr=0.5]", {"seconds": UNEQUAL}, True),
        ("port[buffer_size=1,span=staleness]", "fedbuff[buffer_size=1]", {"seconds": UNEQUAL}, True),
        (
            "port[buffer_size=5,similarity_weight=0,staleness_bound=1e15]",
            "fedavg[sampling=all,weights=examples]",
            {"seconds": EQUAL},
            False,
        ),
        (
            "fedqs[buffer_size=1,rate_gain=0,server_lr=0.5]",
            "fedbuff[buffer_size=1,restart=self,server_lr=0.5]",
            {"seconds": UNTIED},
            True,
        ),
        ("fedqs[buffer_size=5,form=model]", "fedqs[buffer_size=5]", {"seconds": EQUAL}, False),
        (
            "defedavg_iid[cohort_size=1,server_lr=0.5]",
            "asysg[cohort_size=1,server_lr=0.05]",
            {"seconds": UNEQUAL, "steps": 1},
            False,
        ),
        (
            "defedavg_iid[cohort_size=3,server_lr=0.5,receive=peek]",
            "asysg[cohort_size=3,server_lr=0.05]",
            {"seconds": UNEQUAL, "steps": 1},
            False,
        ),
        ("rescaled_asgd[server_lr=0.75]", "fedbuff[buffer_size=1,restart=self,server_lr=0.75]", {"seconds": (2.0,)}, True),
        ("rescaled_asgd[server_lr=0.75]", "fedbuff[buffer_size=1,restart=self,server_lr=0.75]", {"seconds": EQUAL}, False),
        (
            "delayed_nesterov[server_momentum=0,buffer_size=3,server_lr=1.5]",
            f"fedbuff[buffer_size=1,restart=self,server_lr={1.5 / 3}]",
            {"seconds": UNEQUAL},
            True,
        ),
        (
            f"delayed_nesterov[server_momentum=0,spread={1 / N}]",
            f"fedbuff[buffer_size=1,restart=self,server_lr={0.7 / N}]",
            {"seconds": UNEQUAL},
            True,
        ),
    ],
)
def test_relations(left: Any, right: Any, timing: dict[str, Any], bits: bool, dtype: Any) -> None:
    check_relation(left, right, timing, bits, dtype)


def test_fedqs_has_the_plan_of_fedbuff_whatever_its_clients_are_told() -> None:
    told = "fedqs[buffer_size=3,rate_gain=0.1,client_momentum=0.5]"
    a, b = (trace_of(selector, seconds=UNEQUAL, upload=0.25) for selector in (told, "fedbuff[buffer_size=3,restart=self]"))
    assert (a.seconds, a.consumed()) == (b.seconds, b.consumed())
    assert distance(a, b) > 1e-2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("draws", [((0, 1, 2, 3, 4),) * UPDATES, TWICE])
@pytest.mark.parametrize("send", ["continuous", "on_demand"])
def test_defedavg_niid_of_everybody_is_fedavg(send: Any, draws: Any, dtype: Any) -> None:
    """Every client is drawn in every round, so nobody's result is stale; multiplicities count in
    both."""
    a = trace_of("defedavg_niid[server_lr=0.5]", dtype, seconds=UNEQUAL, dispatch=Mailbox(send=send, selections=draws))
    b = trace_of("fedavg[server_lr=0.5]", dtype, seconds=UNEQUAL, dispatch=Rounds(select="scripted", selections=draws))
    assert (a.seconds, a.consumed()) == (b.seconds, b.consumed())
    assert same_bits(a, b)


class InRounds(ACE):
    """ACE's server rule with MIFA's dispatch: rounds of three drawn clients."""

    def dispatch(self, info: Info) -> Any:
        return Rounds(select="without_replacement", cohort_size=3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", ["warm", "wait_all"])
def test_ace_in_rounds_is_mifa(start: Any, dtype: Any) -> None:
    a = trace_of(InRounds(local_lr=0.1, server_lr=1.0, start=start), dtype, seconds=UNEQUAL)
    b = trace_of(f"mifa[sampling=without_replacement,cohort_size=3,start={start}]", dtype, seconds=UNEQUAL)
    assert (a.seconds, a.consumed()) == (b.seconds, b.consumed())
    assert np.abs(a.x[-1] - a.x[0]).max() > 0.1
    assert distance(a, b) < 10 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [0, 0.3, 1])
def test_delayed_nesterov_of_single_arrivals_is_fedavgm(spread: float, dtype: Any) -> None:
    """With Nesterov's step, on rounds of one client. In the stream too one works at a time."""
    rounds = tuple((t % N,) for t in range(UPDATES))
    one_at_a_time = Stream(concurrency=1, buffer_size=1, initial=(0,), replacements=tuple(client for (client,) in rounds[1:]))
    a = trace_of(f"delayed_nesterov[buffer_size=1,spread={spread}]", dtype, dispatch=one_at_a_time)
    b = trace_of("fedavgm[server_lr=0.7,nesterov=true]", dtype, dispatch=Rounds(select="scripted", selections=rounds))
    assert (a.seconds, a.consumed()) == (b.seconds, b.consumed())
    assert np.abs(a.x[-1] - a.x[0]).max() > 0.1
    assert same_bits(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", ["stochastic", "deterministic"])
def test_favano_of_everybody_is_fedavg(alpha: str, dtype: Any) -> None:
    """s = N, everybody does all K steps: FedAvg with server_lr = N / ((N + 1) K)."""
    a = trace_of(f"favano[alpha={alpha}]", dtype, dispatch=Poll(**LATE, cohort_size=N), seconds=UNEQUAL)
    b = trace_of(f"fedavg[sampling=all,server_lr={N / (N + 1) / 3}]", dtype, seconds=EQUAL, steps=3)
    assert distance(a, b) < 10 * np.finfo(dtype).eps
    assert np.abs(a.x[-1] - a.x[0]).max() > 0.1


def test_quafl_without_averagings_is_two_interleaved_runs_of_fedavg() -> None:
    """s = N, everybody does all K steps: x^{t+1} = mean LR(x^{t-1}), the server's message being the
    model before the update."""
    off = "quafl[cohort_size=5,lr_compensation=false,server_averaging=false,client_averaging=false]"
    delayed = trace_of(off, dispatch=Poll(**LATE, cohort_size=N), seconds=UNEQUAL)
    rounds = trace_of("fedavg[sampling=all]", steps=3, seconds=EQUAL, updates=UPDATES // 2)
    for j in range(1, UPDATES // 2 + 1):
        assert delayed.x[2 * j - 1] == pytest.approx(rounds.x[j], rel=1e-14)
        assert delayed.x[2 * j] == pytest.approx(rounds.x[j], rel=1e-14)


# ---- a relation needs its condition
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "options"),
    [
        ("fedbuff[buffer_size=5]", "fedavg[sampling=all]", {"seconds": UNEQUAL}),
        ("ca2fl[buffer_size=3]", "fedbuff[buffer_size=3]", {"seconds": UNEQUAL}),
        ("ca2fl[buffer_size=3,cache=immediate]", "fedbuff[buffer_size=3]", {"seconds": UNEQUAL, "updates": 1}),
        ("ca2fl[buffer_size=5]", "fedavg[sampling=all]", {"seconds": UNEQUAL}),
        ("ace[start=warm,server_lr=1]", "fedbuff[buffer_size=1,restart=self]", {"seconds": UNEQUAL}),
        ("mifa[sampling=without_replacement,cohort_size=3]", "fedavg[cohort_size=3]", {"seconds": UNEQUAL}),
        (
            "defedavg_iid[cohort_size=3,receive=peek]",
            "fedbuff[buffer_size=3,restart=self]",
            {"seconds": UNEQUAL, "download": 0.25},
        ),
        ("fadas[delay_adaptive=true,delay_threshold=0,server_lr=0.1]", "fadas[server_lr=0.1]", {"seconds": UNEQUAL}),
        ("fedbuff[buffer_size=1,server_lr=0.6]", "fedasync[mixing=0.6,staleness=constant,prox=0]", {"seconds": UNEQUAL}),
        ("rescaled_asgd[server_lr=0.75]", "fedbuff[buffer_size=1,restart=self,server_lr=0.75]", {"seconds": UNEQUAL}),
        ("delayed_nesterov", f"fedbuff[buffer_size=1,restart=self,server_lr={0.7 / N}]", {"seconds": UNEQUAL}),
        ("port[buffer_size=2]", "fedbuff[buffer_size=2]", {"seconds": UNEQUAL}),
        ("port[buffer_size=5]", "fedavg[sampling=all,weights=examples]", {"seconds": UNEQUAL}),
        ("fedqs[buffer_size=2,rate_gain=0]", "fedbuff[buffer_size=2,restart=self]", {"seconds": UNEQUAL}),
        ("fedqs[buffer_size=3,form=model]", "fedqs[buffer_size=3]", {"seconds": UNEQUAL}),
    ],
)
def test_a_relation_needs_its_condition(left: str, right: str, options: dict[str, Any]) -> None:
    assert distance(*(trace_of(selector, **options) for selector in (left, right))) > 1e-3


# ---- what holds for all
# --------------------------------------------------------------------------------------------------------

ALL = [
    "asysg[cohort_size=3]",
    "fedasync",
    "fedbuff[buffer_size=3,scaling=sqrt]",
    "favano[cohort_size=3,period_seconds=2.5,max_steps=3]",
    "favano[cohort_size=3,period_seconds=2.5,max_steps=3,alpha=deterministic]",
    "quafl[cohort_size=3,period_seconds=2.5,max_steps=3]",
    "defedavg_niid[cohort_size=4]",
    "defedavg_niid[cohort_size=4,send=on_demand,receive=peek,average=distinct]",
    "defedavg_iid[cohort_size=3]",
    "ca2fl[buffer_size=3]",
    "fedac[buffer_size=3,server_lr=0.1]",
    "fadas[buffer_size=3,server_lr=0.1,delay_adaptive=true]",
    "ace[start=warm]",
    "ace[buffer_size=3,start=seen]",
    "rescaled_asgd",
    "rescaled_asgd[weights=p,server_lr=0.5]",
    "delayed_nesterov",
    "delayed_nesterov[buffer_size=3,spread=0.25]",
    "port[buffer_size=3]",
    "port[buffer_size=3,span=staleness]",
    "fedqs[buffer_size=3]",
    "fedqs[buffer_size=3,form=model,client_momentum=0.5,slow_unlike=momentum]",
]


@pytest.mark.parametrize("selector", ALL)
def test_nobody_is_ahead_and_nothing_counts_twice(selector: str) -> None:
    """tau >= 0; every consumed job belongs to one update; an update has the entries that the
    algorithm asks for: one of delayed_nesterov, whose buffer_size is the period of its momentum."""
    algorithm, trace = make(selector), trace_of(selector, seconds=UNEQUAL, updates=20)
    chunk = trace.chunk
    assert chunk is not None
    version = np.repeat(np.arange(20), np.diff(chunk.offsets))
    assert (version >= chunk.base[chunk.entries]).all()
    assert (version > chunk.base[chunk.entries]).any()
    pairs = {(int(update), int(job)) for update, job in zip(version, chunk.entries, strict=True)}
    assert len({job for _, job in pairs}) == len(pairs) == np.count_nonzero(chunk.consumed_by >= 0)
    size = getattr(algorithm, "buffer_size", getattr(algorithm, "cohort_size", 1)) if algorithm.name != "delayed_nesterov" else 1
    assert (np.diff(chunk.offsets) == size).all()


@pytest.mark.parametrize("selector", ALL)
def test_moving_the_world_moves_the_models_along(selector: str) -> None:
    """All F_i and x0 shifted by one vector: so is every version."""
    shift = np.array([0.5, -1.0, 2.0])
    problem = many_clients(N, 3, seed=4)
    moved = dataclasses.replace(problem, c=problem.c + shift)
    here, there = (
        run(make(selector), world, 20, seconds=UNEQUAL, x0=x0)
        for world, x0 in ((problem, np.ones(3)), (moved, np.ones(3) + shift))
    )
    assert np.stack(there.x) - shift == pytest.approx(np.stack(here.x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("selector", ALL)
def test_weights_of_buffers_sum_to_one(selector: str) -> None:
    batch = arrivals([1, 0, 1, 4, 1], delta=np.zeros((5, 2)), y=np.zeros((5, 2)))
    batch = dataclasses.replace(batch, clients=batch.clients[:1], first=batch.first[:1]) if selector == "fedasync" else batch
    weights = make(selector).entry_weights(batch, Info(N, np.ones(N)))
    assert weights.sum() == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize(
    ("selector", "sent", "step"),
    [
        ("asysg[server_lr=0.5]", "first_gradient", -0.5),
        ("fedbuff[server_lr=0.5]", "delta", 0.5),
        ("defedavg_iid[server_lr=0.5]", "delta", 0.5),
        ("defedavg_niid[server_lr=0.5]", "delta", 0.5),
        ("defedavg_niid[server_lr=0.5,average=distinct]", "delta", 0.5),
        ("ca2fl[server_lr=0.5]", "delta", 0.5),
        ("ringleader[server_lr=0.5]", "delta", 0.5),
        ("port[server_lr=0.5]", "delta", 0.5),
        ("favano", "delta", 4 / 5),
        ("quafl", "y", 4 / 5),
    ],
)
def test_aggregation_weights_sum_to_one(selector: str, sent: str, step: float) -> None:
    """Four clients that all send v = (1, -2), from x = z = 0: the server moves by its rate times v; by s / (s + 1) where it joins in."""
    algorithm = make(selector)
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
    batch = arrivals([2, 0, 3, 1], base_x=np.zeros((4, 2)), **{sent: [[1.0, -2.0]] * 4})
    algorithm.step(state, batch, tools)
    assert state.x == pytest.approx(step * np.array([1, -2]), rel=1e-15)


@pytest.mark.parametrize(
    "selector",
    [
        "fedbuff[buffer_size=1]",
        "ca2fl[buffer_size=1]",
        "ace",
        "defedavg_iid[cohort_size=1,server_lr=1]",
        "defedavg_niid[cohort_size=1,server_lr=1]",
        "mifa[sampling=all]",
        "ringleader",
        "ringleader[resend=newest]",
        "rescaled_asgd",
        "rescaled_asgd[weights=p]",
        "delayed_nesterov[server_momentum=0,server_lr=1]",
        "delayed_nesterov[server_momentum=0,server_lr=1,spread=0.5]",
        "port[buffer_size=1]",
        "fedqs[buffer_size=1]",
        "fedqs[buffer_size=1,form=model]",
    ],
)
def test_one_client_is_plain_sgd(selector: str) -> None:
    """N = 1, nothing is stale: K steps an update, one update after another."""
    trace, problem = trace_of(selector, clients=1, steps=3), many_clients(1, 3, seed=4)
    x = trace.x[0]
    for got in trace.x[1:]:
        for _ in range(3):
            x = x - 0.1 * problem.A[0] @ (x - problem.c[0])
        assert got == pytest.approx(x, rel=1e-12)
