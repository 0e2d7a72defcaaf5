"""FedQS by hand: what a client finds when its job starts, and what the server makes of it; both
against a derivation from numpy alone; its options."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedbuff import FedBuff
from fedbench.algorithms.fedqs import FedQS
from fedbench.errors import UsageError
from fedbench.proof.problems import Quadratic
from fedbench.types import Batch, Info, Job, Message, Stream, Work
from tests.algorithms.by_hand import D0, D1, X0, Array, arrivals, many_clients, run, serve, two_clients

COUNTS = [4, 1, 1, 2, 0]  # 8 results of 4 active clients, so 2 on average
FAST, SLOW, MEAN, NEW = 0, 1, 3, 4
RIGHT = [0.0, 1.0]  # an angle of 90 degrees with the server's last step in `sent`
FEEDBACK, MOMENTUM, NOTHING = (0.0, True), (0.5, False), (0.0, False)


def fedqs(**options: Any) -> FedQS:
    fixed = {"local_lr": 0.25, "rate_gain": 1 / 16, "rate_min": 1 / 64, "rate_max": 1.0, "client_momentum": 0.5, "buffer_size": 2}
    return FedQS(**(fixed | options))


# ---- a job


def sent(theta_bar: float, counts: list[int] = COUNTS, moved: Any = (1.0, 0.0)) -> Message:
    before = np.array([3.0, 5.0])
    return Message(x=before + moved, x_prev=before, theta_bar=theta_bar, c=np.array(counts))


def job(client: int, message: Message, last: Any = RIGHT, kept: float = 0.0, **options: Any) -> tuple[Any, ...]:
    """A job's rate, its momentum with whether it asks for feedback, and its angle.

    The client remembers its last Delta, and its rate without local_lr.
    """
    algorithm, one, memory = fedqs(**options), Job(client, 0, 0, 1), np.array([*last, kept])
    rule = algorithm.local(message, one, memory)
    work = Work(delta=np.array([1.0, 2.0]), end=message.x + np.array([1.0, 2.0]), buffers=np.empty(0))
    reply = algorithm.reply(message, one, work, memory)
    assert rule.start is message.x
    assert reply.memory is not None
    assert reply.memory.tolist() == [1, 2, rule.lr - algorithm.local_lr]
    assert reply.sent["result"].tolist() == (work.delta if algorithm.form == "gradient" else work.end).tolist()
    return rule.lr, (rule.momentum, bool(reply.sent["feedback"])), float(reply.sent["theta"])


@pytest.mark.parametrize(
    ("client", "theta_bar", "rate", "told"),
    [
        (FAST, 60, 1 / 4, FEEDBACK),
        (SLOW, 60, 1 / 4 + 2 / 16, FEEDBACK),
        (MEAN, 60, 1 / 4 + 1 / 16, FEEDBACK),  # not above the mean of those that have reported
        (FAST, 120, 1 / 4 - 1 / 32, MOMENTUM),
        (SLOW, 120, 1 / 4 + 2 / 16, MOMENTUM),
        (MEAN, 90, 1 / 4 + 1 / 16, MOMENTUM),  # 90 degrees are not above the mean of 90
        (NEW, 60, 1 / 4, NOTHING),
        (SLOW, 0, 1 / 4, NOTHING),
    ],
)
def test_the_classes(client: int, theta_bar: float, rate: float, told: tuple[float, bool]) -> None:
    """The move is a = 1/16 times the mean count of 2 over the client's own: 1/2, 2 and 1."""
    assert job(client, sent(theta_bar)) == (rate, told, 90)
    assert job(client, sent(theta_bar), form="model") == (rate, told, 90)
    assert job(client, sent(theta_bar), kept=1 / 8) == (rate + 1 / 8, told, 90)


def test_a_slow_and_unlike_client_by_option() -> None:
    for client, rate in ((SLOW, 3 / 8), (FAST, 1 / 4)):
        told = MOMENTUM if client == SLOW else FEEDBACK
        assert job(client, sent(60), slow_unlike="momentum") == (rate, told, 90)


@pytest.mark.parametrize(
    ("last", "moved", "theta"),
    [
        ([0.0, 0.0], (1, 0), 0),  # no Delta yet
        (RIGHT, (0, 0), 0),  # version 0, or a server that stood still
        ([2.0, 0.0], (1, 0), 0),  # its own step
        ([1.0, math.tan(math.radians(0.0009))], (1, 0), 0),
        ([-2.0, 0.0], (1, 0), 180),
        ([-3.0, 4.0], (4, 3), 90),
    ],
)
def test_the_angle(last: Any, moved: Any, theta: float) -> None:
    """Without one a client keeps its rate, and does nothing else."""
    rate, told, found = job(SLOW, sent(60, moved=moved), last=last, kept=1 / 8)
    assert found == theta
    assert (rate, told) == ((1 / 2, FEEDBACK) if theta else (3 / 8, NOTHING))


def test_degrees() -> None:
    assert job(SLOW, sent(60), last=[1.0, math.sqrt(3)])[2] == pytest.approx(60, rel=1e-14)
    assert job(SLOW, sent(60), last=[1.0, math.tan(math.radians(0.0011))])[2] == pytest.approx(0.0011, rel=1e-6)


def test_the_cap_and_the_bounds() -> None:
    """3/2 in place of 2; the bounds hold for typed clients, whose rate they clip whatever their
    class."""
    assert job(SLOW, sent(120), ratio_cap=1.5)[0] == 1 / 4 + 3 / 32
    assert job(SLOW, sent(120), rate_max=0.3125)[0] == 0.3125
    assert job(FAST, sent(120), rate_min=0.234375)[0] == 0.234375
    assert job(FAST, sent(60), rate_max=0.125)[0] == 0.125
    assert job(NEW, sent(60), rate_max=0.125)[0] == 0.25


def test_momentum_that_all_have() -> None:
    """A client that is told nothing, or to ask for feedback, has the momentum of the common
    option."""
    assert job(SLOW, sent(60), momentum=0.25)[1] == (0.25, True)
    assert job(SLOW, sent(0), momentum=0.25)[1] == (0.25, False)
    assert job(SLOW, sent(120), momentum=0.25)[1] == MOMENTUM


def test_terms_of_the_rule() -> None:
    assert fedqs(client_momentum=0.0).rule_terms == frozenset()
    assert fedqs().rule_terms == fedqs(client_momentum=0.0, momentum=0.5).rule_terms == {"momentum"}


# ---- an update


ONE, OTHER = [1.0, 0.0], [0.0, 1.0]


def received(clients: list[int], theta: list[float], feedback: list[bool], result: Any = (ONE, OTHER)) -> Batch:
    return arrivals(clients, result=result, theta=theta, feedback=feedback)


def test_three_updates_by_hand() -> None:
    """share = 1/2, where the first of both has half of all results: its factor is 1 + (theta /
    theta_bar)^2.

        1: nobody is known                        weights 1, 1                                    c = 1 1 0 0
        2: 0 at 90, 2 at 30, the mean 60          1 + (3/2)^2 = 13/4 with feedback, 1             c = 2 1 1 0
        3: 1 at 120 and then 30, the mean 50      1 + (3/5)^2 = 34/25 with feedback, 1            c = 2 3 1 0
    """
    algorithm = fedqs(share=0.5)
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
    algorithm.step(state, received([0, 1], [0, 0], [False, False]), tools)
    assert (state.x.tolist(), state.x_prev.tolist(), state.theta_bar) == ([1 / 2, 1 / 2], [0, 0], 0)

    algorithm.step(state, received([0, 2], [90, 30], [True, False]), tools)
    assert (state.c.tolist(), state.theta_i.tolist(), state.theta_bar) == ([2, 1, 1, 0], [90, 0, 30, 0], 60)
    assert state.x == pytest.approx([1 / 2 + 13 / 17, 1 / 2 + 4 / 17], rel=1e-15)
    assert state.x_prev.tolist() == [1 / 2, 1 / 2]

    before = state.x
    algorithm.step(state, received([1, 1], [120, 30], [True, False]), tools)
    assert (state.c.tolist(), state.theta_i.tolist(), state.theta_bar) == ([2, 3, 1, 0], [90, 30, 30, 0], 50)
    assert state.x == pytest.approx(before + np.array([34, 25]) / 59, rel=1e-15)


def test_an_unknown_angle_leaves_the_known_one() -> None:
    algorithm = fedqs()
    state, tools = serve(algorithm, clients=2, x0=np.zeros(2))
    state.theta_i[0] = 40.0
    algorithm.step(state, received([0, 1], [0, 20], [False, False]), tools)
    assert (state.theta_i.tolist(), state.theta_bar) == ([40, 20], 30)


def test_the_factor_of_feedback() -> None:
    """(e/2)^(share - c_j / sum c) with 3 of 4 results, and at most 1 + 2^2, of angles 150, 15 and
    15."""
    algorithm = fedqs(share=0.25)
    state, tools = serve(algorithm, clients=4, x0=np.zeros(2))
    state.c[0], state.theta_i[2:] = 2, 15
    algorithm.step(state, received([0, 1], [150, 0], [True, False]), tools)
    w = 5 * (math.e / 2) ** -0.5
    assert state.x == pytest.approx([w / (w + 1), 1 / (w + 1)], rel=1e-14)


def test_examples_rates_and_forms() -> None:
    """n = 1 and 3; the form model averages end models, and the server's rate has no part in it."""
    for form, rate, x in (("gradient", 1.0, [5.25, 5.75]), ("gradient", 0.5, [5.125, 5.375]), ("model", 0.5, [0.25, 0.75])):
        algorithm = fedqs(form=form, server_lr=rate)
        state, tools = serve(algorithm, clients=2, x0=np.full(2, 5.0))
        batch = received([0, 1], [0, 0], [False, False])
        algorithm.step(state, dataclasses.replace(batch, n=np.array([1.0, 3.0])), tools)
        assert (state.x.tolist(), state.x_prev.tolist()) == (x, [5, 5])


def test_a_first_update_is_the_mean_by_examples() -> None:
    assert run(fedqs(), two_clients(), 1).x[1].tolist() == (X0 + (D0 + 3 * D1) / 4).tolist()


# ---- a run, from numpy alone


class ByHand:
    """The equations, one client's job or one update at a time."""

    def __init__(self, problem: Quadratic, steps: Any, x0: Array, algorithm: FedQS) -> None:
        self.problem, self.steps, self.o = problem, steps, algorithm
        N = problem.clients
        self.x, self.theta = [x0], np.zeros(N)
        self.c, self.theta_bar = [np.zeros(N, int)], [0.0]  # by version
        self.d: list[Array | None] = [None] * N
        self.rate = np.full(N, algorithm.local_lr)
        self.seen: set[str] = set()

    def angle(self, client: int, base: int) -> float:
        last = self.d[client]
        if base == 0 or last is None:
            return 0.0
        step = self.x[base] - self.x[base - 1]
        theta = math.degrees(math.acos(np.clip(step @ last / np.linalg.norm(step) / np.linalg.norm(last), -1, 1)))
        return theta if theta >= 0.001 else 0.0

    def classify(self, client: int, base: int, theta: float) -> str:
        """Changes the client's rate, and returns momentum, feedback or nothing."""
        c, o = self.c[base], self.o
        if not (theta > 0 and self.theta_bar[base] > 0 and c[client] > 0):
            self.seen.add("not typed")
            return "nothing"
        like, fast = theta <= self.theta_bar[base], c[client] > c[c > 0].mean() + 1e-9
        ratio = c[c > 0].mean() / c[client]
        move = o.rate_gain * min(ratio, o.ratio_cap)
        moved = self.rate[client] + {(True, True): -move, (False, True): 0.0}.get((like, fast), move)
        self.rate[client] = np.clip(moved, o.rate_min, o.rate_max)
        self.seen |= {f"{'like' if like else 'unlike'} {'fast' if fast else 'slow'}"}
        self.seen |= {name for name, hit in (("cap", ratio > o.ratio_cap), ("min", moved < o.rate_min)) if hit}
        self.seen |= {"max"} if moved > o.rate_max else set()
        if like or (not fast and o.slow_unlike == "momentum"):
            return "momentum"
        return "feedback"

    def work(self, client: int, base: int) -> tuple[Array, float, bool]:
        theta = self.angle(client, base)
        told = self.classify(client, base, theta)
        y, u = self.x[base], np.zeros(len(self.x[0]))
        for _ in range(self.steps[client]):
            u = (self.o.client_momentum if told == "momentum" else 0.0) * u + self.problem.A[client] @ (
                y - self.problem.c[client]
            )
            y = y - self.rate[client] * u
        self.d[client] = y - self.x[base]
        return (y if self.o.form == "model" else y - self.x[base]), theta, told == "feedback"

    def update(self, jobs: list[tuple[int, int]]) -> None:
        c, done = self.c[-1].copy(), [self.work(*job) for job in jobs]
        for (client, _), (_, theta, _) in zip(jobs, done, strict=True):
            c[client] += 1
            self.theta[client] = theta or self.theta[client]
        mean = float(self.theta[self.theta > 0].mean()) if self.theta.any() else 0.0
        w = []
        for (client, _), (_, _, feedback) in zip(jobs, done, strict=True):
            factor = 1.0
            if feedback:
                factor = (math.e / 2) ** (self.o.share - c[client] / c.sum()) * (1 + min(self.theta[client] / mean, 2) ** 2)
            w.append(self.problem.n()[client] * factor)
        average = np.array(w) / sum(w) @ np.array([result for result, _, _ in done])
        self.x.append(average if self.o.form == "model" else self.x[-1] + self.o.server_lr * average)
        self.c.append(c)
        self.theta_bar.append(mean)


@pytest.mark.parametrize("slow_unlike", ["feedback", "momentum"])
@pytest.mark.parametrize("form", ["gradient", "model"])
@pytest.mark.parametrize("seed", range(3))
def test_equations(form: Any, slow_unlike: Any, seed: int) -> None:
    """Random clients, speeds and steps."""
    random, N, M = np.random.default_rng(seed), 7, 3
    problem, steps, x0 = many_clients(N, 4, seed=30 + seed), random.integers(1, 5, N).tolist(), random.standard_normal(4)
    bounds = {"local_lr": 0.1, "rate_gain": 0.01, "ratio_cap": 2.0, "rate_min": 0.07, "rate_max": 0.15}
    algorithm = fedqs(form=form, slow_unlike=slow_unlike, server_lr=0.75, share=0.2, buffer_size=M, **bounds)
    seconds = random.uniform(0.3, 4, N)
    trace = run(algorithm, problem, 60, steps=steps, seconds=seconds, x0=x0)
    by_hand, consumed = ByHand(problem, steps, x0, algorithm), trace.consumed()
    for first in range(0, 60 * M, M):
        by_hand.update(consumed[first : first + M])
    state = trace.state
    assert state is not None
    assert np.stack(trace.x) == pytest.approx(np.stack(by_hand.x), rel=1e-9, abs=1e-9)
    assert algorithm.rate_i(state) == pytest.approx(by_hand.rate, rel=1e-12)
    assert state.theta_i == pytest.approx(by_hand.theta, rel=1e-6)
    assert state.theta_bar == pytest.approx(by_hand.theta_bar[-1], rel=1e-6)
    assert state.c.tolist() == by_hand.c[-1].tolist()
    assert by_hand.seen == {"not typed", "like fast", "like slow", "unlike fast", "unlike slow", "cap", "min", "max"}


# ---- what it declares


def test_the_plan_is_fedbuff_s_with_clients_that_work_on() -> None:
    info = Info(30, np.ones(30))
    assert FedQS().dispatch(info) == Stream(concurrency=30, buffer_size=10, restart="self")
    assert FedQS(buffer_size=3).dispatch(info) == FedBuff(buffer_size=3, restart="self").dispatch(info)


def test_traffic_and_memory() -> None:
    """The model and the one before it go down; a client keeps a vector and a number."""
    info = Info(30, np.ones(30))
    assert FedQS().traffic(info) == (2, 1, 1)
    assert FedQS().server_memory(info) == (2, 0, 0, 0)
    state, _ = serve(fedqs(), clients=4, x0=np.zeros(3, np.float32))
    assert FedQS.clients_remember
    assert state.memory.dense().shape == (4, 4)
    assert state.memory.dense().dtype == np.float32
    assert fedqs().rate_i(state).tolist() == [0.25] * 4


def test_a_version_sends_what_it_had() -> None:
    """Counts and angles of a later update do not reach jobs that started before it."""
    algorithm = fedqs()
    state, tools = serve(algorithm, clients=2, x0=np.zeros(2))
    message = algorithm.broadcast(state, tools).frozen()
    algorithm.step(state, received([0, 1], [90, 30], [False, False]), tools)
    assert (message.c, message.theta_bar, message.x.tolist(), message.x_prev.tolist()) == ([0, 0], 0, [0, 0], [0, 0])
    later = algorithm.broadcast(state, tools).frozen()
    assert (later.c, later.theta_bar, later.x.tolist(), later.x_prev.tolist()) == ([1, 1], 60, [1 / 2, 1 / 2], [0, 0])


def test_alone_in_the_buffer_nobody_is_typed() -> None:
    """The server's last step is then the client's own Delta, so there is no angle."""
    trace = run(fedqs(buffer_size=1), two_clients(), 12, seconds=(1, 2.7))
    assert trace.state is not None
    assert trace.state.theta_bar == 0
    assert fedqs().rate_i(trace.state).tolist() == [0.25, 0.25]


@pytest.mark.parametrize("form", ["gradient", "model"])
def test_the_initial_model_is_not_written(form: Any) -> None:
    x0 = X0.copy()
    run(fedqs(form=form), two_clients(), 3, seconds=(1, 2.5), x0=x0)
    assert np.array_equal(x0, X0)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"form": "delta"}, "fedqs: form must be .*, got 'delta'"),
        ({"rate_gain": -1}, "fedqs: rate_gain must be .*, got -1"),
        ({"ratio_cap": 0}, "fedqs: ratio_cap must be .*, got 0"),
        ({"rate_min": 0}, "fedqs: rate_min must be .*, got 0"),
        ({"rate_max": -1}, "fedqs: rate_max must be .*, got -1"),
        ({"rate_min": 0.5, "rate_max": 0.25}, "fedqs: rate_min must be <= rate_max, got 0.5 and 0.25"),
        ({"optimizer": "adamw"}, "fedqs: client_momentum must be 0 with adamw, which has its own, got 0.5"),
        ({"share": 2}, "fedqs: share must be .*, got 2"),
        ({"client_momentum": 1}, "fedqs: client_momentum must be .*, got 1"),
        ({"slow_unlike": "nothing"}, "fedqs: slow_unlike must be .*, got 'nothing'"),
        ({"server_lr": 0}, "fedqs: server_lr must be .*, got 0"),
    ],
)
def test_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fedqs(**option)
