"""Claims on FedEcho's distillation: one step by its formula, the effect of an informative teacher,
and the orders of the theorem with a random one.

The logits of the public data are linear in the model, so the loss in the docstring of `FedEcho` is
a formula here, and its gradient is taken by central differences. Nothing of the distillation kernel
is used. A run with one step of distillation is compared with the same run without it. All noise is
the same in both, so the difference is the step.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np
from scipy.special import log_softmax

from fedbench.algorithms.fedbuff import FedBuff
from fedbench.algorithms.fedecho import FedEcho
from fedbench.proof.theory.bed import Clients, Measured, Observed, near_optimum, play, problem, with_public_data
from fedbench.proof.theory.exact import Step, moments
from fedbench.proof.theory.moments import Point, planned
from fedbench.proof.theory.orders import ALLOWED, both, doubled, sweep
from fedbench.proof.theory.rates import setting
from fedbench.proof.theory.rows import Row, Table, bound_by, claim, exact, slope, value
from fedbench.types import Job, Message, Reply, Vector, Work

ECHOED = "Wang et al. 2025 (FedEcho), Theorem 4.5"
SEEDS, UPDATES = 10, 200
STILL = 1e-9  # a local rate with which clients hardly move


class RandomTeacher(FedEcho):
    """FedEcho whose clients send random logits, which have nothing to do with their models. The
    theorem holds for any teacher."""

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        shape = np.shape(work.public_logits)
        return Reply(delta=work.delta, logits=np.random.default_rng(job.client).standard_normal(shape))


def taught_by(teacher: Table) -> type[FedEcho]:
    """Returns FedEcho whose clients all send these logits (P, C)."""

    class Taught(FedEcho):
        def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
            return Reply(delta=work.delta, logits=teacher)

    return Taught


def loss(on: Observed, x: Vector, teacher: Table, low: float = 0.2, high: float = 0.8) -> float:
    """Returns the mean of alpha KL(P || softmax(y)) + (1 - alpha) CE(y, argmax t) over all public
    rows."""
    y = log_softmax(on.logits(x, on.public), axis=1)
    log_P = log_softmax(teacher, axis=1)
    P = np.exp(log_P)
    H = float(-(P * log_P).sum(axis=1).mean() / math.log(on.classes))
    alpha = H * high + (1 - H) * low
    kl, ce = (P * (log_P - y)).sum(axis=1), -y[np.arange(len(y)), teacher.argmax(axis=1)]
    return float((alpha * kl + (1 - alpha) * ce).mean())


def gradient(on: Observed, x: Vector, teacher: Table, h: float = 1e-5) -> Vector:
    """Returns the gradient of `loss` in x, by central differences."""
    steps = h * np.eye(on.dim)
    return np.array([(loss(on, x + e, teacher) - loss(on, x - e, teacher)) / (2 * h) for e in steps])


def student(on: Observed, start: Vector, teacher: Table, rate: float, clip: float | None, steps: int = 1) -> Vector:
    """Returns the model after steps of SGD on all public rows at once. The clients hardly move, so
    that nothing happens but distillation."""
    algorithm = taught_by(teacher)(
        buffer_size=2, restart="self", local_lr=STILL, distill_optimizer="sgd", distill_lr=rate, clip_norm=clip,
        distill_batch_size=len(on.public), distill_steps=steps,
    )  # fmt: skip
    return play(algorithm, on, 1, Clients(), noise=False, start=start).x


@claim(
    "fedecho-step",
    "Wang et al. 2025 (FedEcho), Algorithm 1 and equation (4)",
    "A step of distillation goes down the gradient, and no further than rate x clip.",
    quick=True,
)
def one_step() -> Iterator[Row]:
    """Measures steps of SGD on all public rows, so that the gradient G of a step is that by central
    differences."""
    on = with_public_data(problem(clients=8), rows=40)
    start = near_optimum(on, 1.0)
    teacher = 3 * np.random.default_rng(1).standard_normal((40, on.classes))
    G, rate = gradient(on, start, teacher), 0.02
    norm = float(np.linalg.norm(G))

    def moved(clip: float | None, steps: int = 1) -> Vector:
        return np.asarray(student(on, start, teacher, rate, clip, steps) - start)

    for part in (0.1, 0.2, 0.4):
        step = moved(part * norm)
        size = float(np.linalg.norm(step)) / (rate * part * norm)
        yield value(f"clip at {part} |G|: movement over rate x clip", size, 1.0, 1e-5)
    free = moved(None)
    yield value(
        "no clip, against - rate G: distance, relative", float(np.linalg.norm(free + rate * G)) / (rate * norm), 0.0, 1e-5
    )
    loose = float(np.linalg.norm(moved(2 * norm))) / (rate * norm)
    yield value("clip at 2 |G|, which does not act: movement over rate |G|", loose, 1.0, 1e-5)
    many = float(np.linalg.norm(moved(0.1 * norm, steps=20))) / (20 * rate * 0.1 * norm)
    yield bound_by("20 clipped steps: movement over 20 rate x clip", many, 1.0 + 1e-9)


@claim(
    "fedecho-teacher",
    "Wang et al. 2025 (FedEcho), Algorithm 1 and equations (2)-(3)",
    "An informative teacher lowers the student's loss, at first by rate |G|^2 a step, and makes it agree.",
    quick=True,
)
def teaching() -> Iterator[Row]:
    """Measures a student with a teacher whose logits it can reach."""
    on = with_public_data(problem(clients=8), rows=60)
    random = np.random.default_rng(2)
    wise, start = 2 * random.standard_normal(on.dim), random.standard_normal(on.dim)
    teacher = on.logits(wise, on.public)
    labels = teacher.argmax(axis=1)

    def accuracy(x: Vector) -> float:
        return float((on.logits(x, on.public).argmax(axis=1) == labels).mean())

    before, rate, soft = loss(on, start, teacher), 1e-4, teacher / 8
    fallen = loss(on, start, soft) - loss(on, student(on, start, soft, rate, None), soft)
    G = gradient(on, start, soft)
    yield value(
        "one small step of an unsure teacher: the loss falls by rate |G|^2, ratio", fallen / (rate * float(G @ G)), 1.0, 0.01
    )
    taught = student(on, start, teacher, 0.1, 5.0, 100)
    yield bound_by("100 steps: the student's loss over that before", loss(on, taught, teacher) / before, 0.3)
    yield bound_by("its disagreement with the teacher before, at least 1/3", 1 / 3, 1 - accuracy(start))
    yield bound_by("its disagreement with the teacher after 100 steps", 1 - accuracy(taught), 0.05)


@claim(
    "fedecho-orders",
    ECHOED,
    "|grad F|^2 of FedEcho falls as 1 / sqrt(M T); what distillation adds falls as 1 / T, whoever teaches.",
)
def orders() -> Iterator[Row]:
    """Measures orders at the rates of the theorem, with a random teacher, which does not help. Its
    steps are clipped at 0.1."""
    on, K, Q, gap = with_public_data(problem(dim=30)), 2, 2, 1.0
    clients, start = Clients(steps=K, seconds=np.linspace(1.0, 1.73, on.clients)), near_optimum(on, gap)
    size = 1 + K * setting(on, 4, 1, lam=2).gamma2  # sigma_l^2 + K sigma_g^2

    def step_of(M: int, T: int) -> Step:
        return Step(math.sqrt(gap / (T * K * size)), K, math.sqrt(M))

    def distill_rate(T: int) -> float:
        return gap / (Q * math.sqrt(T**3 * size))

    @functools.cache  # sweeps meet
    def echo(M: int, T: int, seed: int, steps: int = Q) -> Measured:
        step = step_of(M, T)
        algorithm = RandomTeacher(
            buffer_size=M, concurrency=2 * M, server_lr=step.server, local_lr=step.rate,
            distill_optimizer="sgd", distill_lr=distill_rate(T), distill_steps=steps, clip_norm=0.1,
        )  # fmt: skip
        return play(algorithm, on, T, clients, seed=seed, start=start)

    def measure(M: int, T: int, seed: int) -> Point:
        """Returns a point whose exact value is that without distillation, which changes it by less
        than 1 %."""
        found = echo(M, T, seed)
        schedule = planned(FedBuff(buffer_size=M, concurrency=2 * M), on, clients, T, seed)
        return found.mean_square_gradient, float(moments(on, schedule, start, step_of(M, T)).squares.mean())

    def shift(T: int, seed: int) -> float:
        """Returns how far distillation moves the last model. Everything else is the same, noise
        included."""
        return float(np.linalg.norm(echo(4, T, seed).x - echo(4, T, seed, steps=0).x))

    sizes, lengths = [2, 4, 8, 16], doubled(UPDATES // 2)
    yield from both("|grad F|^2 against M", sizes, sweep(measure, [(M, UPDATES) for M in sizes], SEEDS), -0.5)
    yield from both("|grad F|^2 against T", lengths, sweep(measure, [(4, T) for T in lengths], SEEDS), -0.5)
    shifts = np.array([[shift(T, seed) for T in lengths] for seed in range(SEEDS)])
    yield slope("shift by distillation against T, exponent", lengths, shifts, -1.0, ALLOWED)
    one = [shift(1, seed) for seed in range(SEEDS)]
    yield exact("shift by the first update over Q x rate x clip", np.array(one) / (Q * distill_rate(1) * 0.1), 1.0, 0.1)
