"""FedEcho by hand and against its equations in numpy, its limits, and its options."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import fedbench as fb
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.algorithms.fedecho import FedEcho
from fedbench.engine.execute import Diverged, Execution
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.errors import UsageError
from fedbench.kernels.scheduler import Duration, LocalSteps, Scheduler, Timing
from fedbench.proof.problems import Softmax
from fedbench.protocols import Algorithm
from fedbench.types import Info
from tests.algorithms.by_hand import Trace, run, two_clients

Array = np.ndarray[Any, Any]


def problem(dtype: str = "float64", clients: int = 6, classes: int = 3, features: int = 2, public: int = 8) -> Softmax:
    random = np.random.default_rng(3)
    X = [random.standard_normal((4, features)).astype(dtype) for _ in range(clients)]
    y = [random.integers(0, classes, 4) for _ in range(clients)]
    n, dim = np.ones(clients), classes * (features + 1)
    return Softmax(n, n / clients, dim, classes, features, 0.01, X, y, random.standard_normal((public, features)).astype(dtype))


def play(
    algorithm: Algorithm, problem: Softmax, updates: int = 6, *, size: int = 1 << 20, **options: Any
) -> tuple[Trace, Execution]:
    """Clients of one second and up, two steps each."""
    info = Info(problem.clients, problem.n(), problem.p())
    timing = Timing(
        clients=problem.clients,
        compute=Duration.constant(1.0 + np.arange(problem.clients)),
        steps=LocalSteps(values=2),
        max_updates=updates,
    )
    x0 = np.linspace(-1, 1, problem.dim).astype(problem.X[0].dtype)
    execution = Execution(algorithm, ReferenceTrainer(problem, dtype=x0.dtype, seed=9), info, x0, **options)
    trace, scheduler = Trace([x0.copy()]), Scheduler(timing, algorithm.dispatch(info))
    while trace.chunk is None or not trace.chunk.done:
        trace.chunk = scheduler.next(size)
        execution.run([trace.chunk], [trace])
    return trace, execution


def echo(**options: Any) -> FedEcho:
    return FedEcho(
        **({"local_lr": 0.5, "buffer_size": 2, "concurrency": 4, "distill_batch_size": 3, "distill_lr": 0.1} | options)
    )


# ---- one step by hand


def test_one_distillation_step_by_hand() -> None:
    """One client, one feature, two classes, x0 = 0 (theta = w0, w1, b0, b1), one example (feature
    1, class 0), one step of rate 1.

    Gradient at 0: softmax = (1/2, 1/2), so w = (-1/2, 1/2), b = (-1/2, 1/2): Delta = (1/2, -1/2, 1/2, -1/2).
    server_lr = 2: x = (1, -1, 1, -1). Public row -1: Z = (0, 0) under Delta, y = (0, 0) under x.
    P = (1/2, 1/2), H = 1, alpha = alpha_max = 1/2, label 0 (a tie): dlogits = (1/2, 1/2) - 1/4 - (1/2, 0) = (-1/4, 1/4).
    G = (-1 * -1/4, -1 * 1/4, -1/4, 1/4), |G| = 1/2; clip_norm = 1/4 halves it; distill_lr = 4: x = (1/2, -1/2, 3/2, -3/2).
    """
    one = Softmax(np.ones(1), np.ones(1), 4, 2, 1, 0.0, [np.ones((1, 1))], [np.zeros(1, np.int64)], np.array([[-1.0]]))
    algorithm = FedEcho(
        local_lr=1.0,
        server_lr=2.0,
        buffer_size=1,
        distill_optimizer="sgd",
        distill_lr=4.0,
        clip_norm=0.25,
        alpha_min=0,
        alpha_max=0.5,
    )
    info = Info(1, np.ones(1))
    chunk = Scheduler(Timing(clients=1, compute=Duration.constant(1.0), max_updates=1), algorithm.dispatch(info)).next()
    execution = Execution(algorithm, ReferenceTrainer(one, dtype=np.float64), info, np.zeros(4))
    execution.run([chunk])
    assert execution.state.x.tolist() == [0.5, -0.5, 1.5, -1.5]
    assert execution.state.Z.stored(0).tolist() == [[0, 0]]


# ---- the equations in numpy


def softmax(z: Array) -> Array:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


class Numpy:
    """FedEcho on a given plan with the same batches, without any kernel."""

    def __init__(self, a: FedEcho, problem: Softmax, x0: Array) -> None:
        self.a, self.problem, self.models = a, problem, [x0]
        self.Z: dict[int, Array] = {}
        self.reset()

    def reset(self) -> None:
        self.m, self.v, self.t = 0 * self.models[0], 0 * self.models[0], 0

    def update(self, jobs: Sequence[tuple[int, int]], batches: Sequence[Array]) -> None:
        deltas = []
        for client, base in jobs:
            y = self.models[base]
            for _ in range(2):
                y = y - self.a.local_lr * self.problem.gradient(client, y)
            deltas.append(y - self.models[base])
            self.Z[client] = self.problem.logits(self.models[base] + deltas[-1], self.problem.public)  # type: ignore[arg-type]
        x = self.models[-1] + self.a.server_lr * np.mean(deltas, axis=0)
        if self.a.adam_state == "reset":
            self.reset()
        for rows in batches:
            x = self.distilled(x, rows)
        self.models.append(x)

    def distilled(self, x: Array, rows: Array) -> Array:
        a, features = self.a, self.problem.public[rows]  # type: ignore[index]
        t = np.mean([Z[rows] for Z in self.Z.values()], axis=0)
        P = softmax(t) if a.teacher == "logits" else np.mean([softmax(Z[rows]) for Z in self.Z.values()], axis=0)
        H = -(P * np.log(P)).sum(axis=1).mean() / np.log(3)
        alpha = H * a.alpha_max + (1 - H) * a.alpha_min
        hard = np.eye(3)[P.argmax(axis=1)]
        G = self.problem.pullback(
            features, (softmax(self.problem.logits(x, features)) - alpha * P - (1 - alpha) * hard) / len(rows)
        )
        if a.clip_norm is not None:
            G = G * min(1.0, a.clip_norm / np.linalg.norm(G))
        if a.distill_optimizer == "sgd":
            return np.asarray(x - a.distill_lr * G)
        self.t += 1
        self.m, self.v = a.beta1 * self.m + (1 - a.beta1) * G, a.beta2 * self.v + (1 - a.beta2) * G**2
        m, v = self.m / (1 - a.beta1**self.t), self.v / (1 - a.beta2**self.t)
        return np.asarray(x - a.distill_lr * m / (np.sqrt(v) + a.eps))


@pytest.mark.parametrize("teacher", ["logits", "prob_mean"])
@pytest.mark.parametrize("options", [
    {}, {"adam_state": "reset"}, {"clip_norm": None}, {"clip_norm": 0.05}, {"distill_optimizer": "sgd", "clip_norm": 0.1},
    {"distill_steps": 7}, {"server_lr": 0.5, "alpha_min": 0.0, "alpha_max": 1.0, "dispatch_before_update": True},
])  # fmt: skip
def test_every_option_is_its_equation(options: Any, teacher: Any) -> None:
    a, world = echo(teacher=teacher, **options), problem()
    trace, execution = play(a, world)
    twin, consumed = Numpy(a, world, trace.x[0]), trace.consumed()
    for version in range(6):
        batches = list(execution.tools.public_batches(version, 3, a.distill_steps))
        twin.update(consumed[2 * version : 2 * version + 2], batches)
        assert trace.x[version + 1] == pytest.approx(twin.models[-1], rel=1e-9, abs=1e-12)
    for client, Z in twin.Z.items():
        assert execution.state.Z.stored(client) == pytest.approx(Z, rel=1e-9, abs=1e-12)
    absent = [client for client in range(6) if client not in twin.Z]
    assert [execution.state.Z.stored(client) for client in absent] == [None] * len(absent)


# ---- limits


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("common", [{}, {"restart": "self"}, {"dispatch_before_update": True, "server_lr": 0.7}])
def test_without_steps_it_is_fedbuff_bit_for_bit(dtype: str, common: Any) -> None:
    a, _ = play(echo(distill_steps=0, **common), problem(dtype), 12)
    b, _ = play(FedBuff(local_lr=0.5, buffer_size=2, concurrency=4, **common), problem(dtype), 12)
    c, _ = play(echo(**common), problem(dtype), 12)
    assert [x.tobytes() for x in a.x] == [x.tobytes() for x in b.x]
    assert not np.array_equal(a.x[1], c.x[1])


def test_how_far_distillation_can_go() -> None:
    """sgd moves x by at most Q distill_lr clip_norm, the first update's adam by about Q distill_lr
    a coordinate."""
    plain, _ = play(echo(distill_steps=0), problem(), 1)
    sgd, _ = play(echo(distill_optimizer="sgd", clip_norm=0.01, distill_steps=5), problem(), 1)
    assert 0.3 * 5e-3 < np.linalg.norm(sgd.x[1] - plain.x[1]) <= 5e-3 * (1 + 1e-12)
    adam, _ = play(echo(distill_steps=1), problem(), 1)
    assert np.abs(adam.x[1] - plain.x[1]) == pytest.approx(0.1, rel=1e-3)


def test_a_student_that_agrees_with_its_teacher_stays() -> None:
    """Pure KL (alpha 1) and one client, buffer of one, server_lr 1: x is the client's end model,
    its own teacher."""
    options = {"alpha_min": 1.0, "alpha_max": 1.0, "buffer_size": 1, "concurrency": 1, "distill_optimizer": "sgd"}
    a, _ = play(echo(**options), problem(clients=1), 4)
    b, _ = play(echo(**options, distill_steps=0), problem(clients=1), 4)
    assert a.x[-1] == pytest.approx(b.x[-1], rel=1e-13)


def test_logits_stay_until_the_client_arrives_again() -> None:
    """Client 3 takes 4 s: it arrives at 4, the time of update 2, and not again by 6, that of update
    3; client 0 does so twice."""
    algorithm = echo(restart="self", buffer_size=4, concurrency=6)
    (two, at_four), (three, at_six) = (play(algorithm, problem(), updates) for updates in (2, 3))
    assert (two.seconds[-1], three.seconds[-1]) == (4, 6)
    assert at_four.state.Z.stored(3).tobytes() == at_six.state.Z.stored(3).tobytes()
    assert at_four.state.Z.stored(0).tobytes() != at_six.state.Z.stored(0).tobytes()


# ---- batches, waves, refusals


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("teacher", ["logits", "prob_mean"])
def test_waves_and_chunks_change_no_bit(dtype: str, teacher: Any) -> None:
    wanted, execution = play(echo(teacher=teacher), problem(dtype), wave_size=1)
    for size, options in itertools.product((1, 1000), ({}, {"wave_bytes": 1})):
        got, other = play(echo(teacher=teacher), problem(dtype), size=size, **options)  # type: ignore[arg-type]
        assert got.x[-1].tobytes() == wanted.x[-1].tobytes()
        assert other.state.Z.mean().tobytes() == execution.state.Z.mean().tobytes()


def test_batches_are_shuffled_passes_keyed_by_version() -> None:
    _, execution = play(echo(), problem(), 1)
    one_pass = list(execution.tools.public_batches(4, 3))
    assert [len(rows) for rows in one_pass] == [3, 3, 2]
    assert sorted(np.concatenate(one_pass)) == list(range(8))
    two = list(execution.tools.public_batches(4, 3, 6))
    assert [rows.tolist() for rows in two[:3]] == [rows.tolist() for rows in one_pass]
    assert sorted(np.concatenate(two[3:])) == list(range(8))
    assert np.concatenate(two[3:]).tolist() != np.concatenate(one_pass).tolist()
    assert np.concatenate(list(execution.tools.public_batches(5, 3))).tolist() != np.concatenate(one_pass).tolist()


def test_without_public_data_it_is_refused() -> None:
    with pytest.raises(UsageError, match="needs unlabelled public examples, and there are none"):
        run(echo(concurrency=2), two_clients(), 1)


def test_a_client_that_diverges_ends_the_run() -> None:
    with pytest.raises(Diverged) as caught:
        play(echo(local_lr=1e300), problem(), 6)
    assert 1 <= caught.value.version < 6


# ---- the default rate, and the warning of a rate that does nothing


@pytest.mark.parametrize(("d", "rate"), [(11_173_962, 3e-6), (11_173_962 // 4, 6e-6), (15_010, 8.185e-5)])
def test_the_default_rate_moves_every_model_as_far(d: int, rate: float) -> None:
    """rate * sqrt(d) is that of ResNet-18; a rate that is given stays as it is."""
    assert FedEcho().rate(d) == pytest.approx(rate, rel=1e-3)
    assert FedEcho().rate(d) * np.sqrt(d) == pytest.approx(3e-6 * np.sqrt(11_173_962), rel=1e-12)
    assert FedEcho(distill_lr=0.5).rate(d) == 0.5


def test_the_default_rate_is_used() -> None:
    none, given = (play(echo(distill_lr=rate), problem())[0] for rate in (None, FedEcho().rate(9)))
    assert none.x[-1].tobytes() == given.x[-1].tobytes()
    assert none.x[-1].tobytes() != play(echo(distill_lr=3e-6), problem())[0].x[-1].tobytes()


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_what_moved_the_model_is_measured(optimizer: Any) -> None:
    """Lengths of the way: of FedBuff's updates from the same models, and of what the distillation
    adds to them."""
    trace, execution = play(echo(distill_optimizer=optimizer), problem(), updates=1)
    plain = play(echo(distill_steps=0), problem(), updates=1)[0]
    assert execution.state.updates_moved == pytest.approx(np.linalg.norm(plain.x[1] - plain.x[0]))
    assert execution.state.distillation_moved == pytest.approx(np.linalg.norm(trace.x[1] - plain.x[1]))
    state = play(echo(distill_optimizer=optimizer), problem(), updates=6)[1].state
    assert state.updates_moved > execution.state.updates_moved
    assert state.distillation_moved > execution.state.distillation_moved


@pytest.mark.parametrize(
    ("options", "warned"),
    [({}, False), ({"distill_lr": None}, False), ({"distill_lr": 1e-6}, True), ({"distill_steps": 0}, False)],
)
def test_a_distillation_that_does_nothing_is_reported(options: dict[str, Any], warned: bool) -> None:
    algorithm = echo(**options)
    (*said,) = algorithm.warnings(play(algorithm, problem())[1].state)
    assert bool(said) == warned
    if warned:
        assert "distill_lr = 1e-06 is too small for this model" in said[0]


def test_on_digits_the_default_distils_and_a_record_says_if_not() -> None:
    """A quarter of digits-demo: accuracies differ from FedBuff's; the rate of the paper, for a
    larger model, has a warning."""
    selectors = ["fedecho", "fedecho[distill_steps=0]", "fedecho[distill_lr=3e-6]"]
    default, without, tiny = fb.run("digits-demo", selectors, overrides=["budget.seconds=10"])
    assert default.curves["test_accuracy"].tolist() != without.curves["test_accuracy"].tolist()
    assert default.said == without.said == ()
    assert tiny.said[0].startswith("fedecho: distillation moved the model by 0.00")
