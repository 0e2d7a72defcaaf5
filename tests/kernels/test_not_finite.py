"""The policy of fedbench.kernels for NaN and infinity: what propagates does so alike on every
instruction set, the rest refuses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fedbench import kernels as k
from fedbench.errors import UsageError
from fedbench.kernels.accumulate import weighted_sum_norm
from fedbench.kernels.scheduler import Duration, LocalSteps, Scheduler, Timing
from fedbench.types import Batch, Info, Poll, Rounds

Array = npt.NDArray[Any]
Kernel = Callable[[np.random.Generator, Any, str], list[Any]]
DTYPES = [np.float32, np.float64]
BAD = [math.nan, math.inf, -math.inf]
RULE = k.AdamRule(0.01, 0.9, 0.99, 1e-3, True, 3)
D = 41  # whole groups of eight and a rest


def spoiled(random: np.random.Generator, shape: Any, dtype: Any) -> Array:
    """Numbers of many sizes, up to four of them not finite."""
    values = random.standard_normal(shape) * np.exp2(random.integers(-20, 21, shape))
    places = random.integers(0, values.size, random.integers(0, 5))
    values.flat[places] = random.choice([*BAD, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal], len(places))
    return values.astype(dtype)


def _weighted_sum(random: np.random.Generator, dtype: Any, isa: str) -> list[Any]:
    return list(weighted_sum_norm(spoiled(random, 5, np.float64), spoiled(random, (5, D), dtype), isa=isa))


def _dot(random: np.random.Generator, dtype: Any, isa: str) -> list[Any]:
    return [k.dot(spoiled(random, D, dtype), spoiled(random, D, dtype), isa=isa)]


def _clip_sgd(random: np.random.Generator, dtype: Any, isa: str) -> list[Any]:
    x, g = (spoiled(random, D, dtype) for _ in range(2))
    return [x, *k.clip_sgd(x, g, 0.1, random.choice([None, 1.0]), isa=isa)]


def _clip_adam(random: np.random.Generator, dtype: Any, isa: str) -> list[Any]:
    x, m, v, g = (spoiled(random, D, dtype) for _ in range(4))
    return [x, m, v, *k.clip_adam(x, m, v, g, RULE, random.choice([None, 1.0]), isa=isa)]


def _adaptive_step(random: np.random.Generator, dtype: Any, isa: str) -> list[Any]:
    x, m, v, vhat, direction = (spoiled(random, D, dtype) for _ in range(5))
    k.adaptive_step(x, m, v, vhat, direction, RULE, use_maximum=bool(random.integers(2)), isa=isa)
    return [x, m, v, vhat]


def _sum_adaptive_step(random: np.random.Generator, dtype: Any, isa: str) -> list[Any]:
    x, m, v, vhat = (spoiled(random, D, dtype) for _ in range(4))
    weights, vectors = spoiled(random, 3, np.float64), spoiled(random, (3, D), dtype)
    k.sum_adaptive_step(x, m, v, vhat, weights, vectors, RULE, use_maximum=bool(random.integers(2)), isa=isa)
    return [x, m, v, vhat]


def _distill(random: np.random.Generator, dtype: Any, isa: str) -> list[Any]:
    shape = int(random.integers(1, 12)), int(random.choice([2, 10, 31, 33, 100]))
    student, teacher, kind = (
        spoiled(random, shape, dtype),
        spoiled(random, shape, dtype),
        random.choice(["logits", "probabilities"]),
    )
    got = k.distill(student, teacher, 0.2, 0.8, kind=kind, isa=isa)
    assert ((got.label >= 0) & (got.label < shape[1])).all()
    return list(vars(got).values())


def _softmax(random: np.random.Generator, dtype: Any, isa: str) -> list[Any]:
    return [k.softmax(spoiled(random, (9, 33), dtype), isa=isa)]


KERNELS: list[Kernel] = [_weighted_sum, _dot, _clip_sgd, _clip_adam, _adaptive_step, _sum_adaptive_step, _distill, _softmax]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__.strip("_"))
def test_the_same_on_every_instruction_set(kernel: Kernel, dtype: Any) -> None:
    """NaN in the same places, the same bits elsewhere. The payload and the sign of a NaN mean
    nothing."""
    portable, *others = k.build_info()["instruction_sets"]
    if not others:
        pytest.skip("this machine has no other instruction set, or FEDBENCH_ISA forbids it")
    seen = 0
    for seed, isa in itertools.product(range(150), others):
        results = (kernel(np.random.default_rng(seed), dtype, name) for name in (portable, isa))
        for a, b in zip(*(map(np.asarray, result) for result in results), strict=True):
            assert np.array_equal(np.isnan(a), np.isnan(b)), (seed, isa)
            assert np.where(np.isnan(a), 0, a).tobytes() == np.where(np.isnan(b), 0, b).tobytes(), (seed, isa)
            seen += int(np.isnan(a).sum())
    assert seen > 50


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("isa", ["portable", ""])
def test_what_propagates_stays_in_its_place(isa: str, bad: float) -> None:
    vectors = np.ones((2, D))
    vectors[1, 7] = bad
    for got in (
        k.weighted_sum([0.0, 1.0], vectors, isa=isa),
        k.weighted_sum([1.0, 0.0], vectors, isa=isa),  # a weight of 0 does not skip a vector
        k.mean(vectors),
        k.mean(list(vectors)),
    ):
        assert np.flatnonzero(~np.isfinite(got)).tolist() == [7]
    assert not np.isfinite(k.norm(vectors[1]))
    assert not all(map(math.isfinite, k.movement(vectors[0], vectors[0], vectors[1])))
    for weight in BAD:
        assert not np.isfinite(k.weighted_sum([weight, 1.0], np.ones((2, D)), isa=isa)).any()


@pytest.mark.parametrize("bad", BAD)
def test_what_refuses(bad: float) -> None:
    """Numbers that say how, not what: they are settings, and a setting that is not finite is a
    mistake."""
    x, y, m, v, logits = np.ones(3), np.ones(3), np.zeros(3), np.zeros(3), np.ones((2, 3), np.float32)
    calls: list[Callable[[], Any]] = [
        lambda: k.clip_sgd(x, y, bad),
        lambda: k.AdamRule(bad),
        lambda: k.AdamRule(0.1, beta2=bad),
        lambda: k.AdamRule(0.1, epsilon=bad),
        lambda: k.distill(logits, logits, bad, 1),
        lambda: k.TeacherMean(2, 3).replace(0, np.full((2, 3), bad, np.float32)),
        lambda: k.staleness_weight("poly", [bad]),
        lambda: k.staleness_weight("hinge", [1], a=bad),
        lambda: k.weights("examples", batch(np.array([1, bad])), Info(2, np.ones(2))),
        lambda: k.participation_weights(batch(np.array([1, bad])), Info(2, np.ones(2))),
    ]
    if bad != math.inf:  # no bound
        calls.append(lambda: k.clip_sgd(x, y, 0.1, bad))
    for call in calls:
        with pytest.raises(ValueError, match=f"(finite|must be).*got .*{bad}"):
            call()
    assert [a.tolist() for a in (x, y, m, v)] == [[1] * 3] * 2 + [[0] * 3] * 2


def batch(sizes: Array) -> Batch:
    zeros = np.zeros(2, np.int32)
    return Batch(
        clients=np.arange(2), steps=zeros, base=zeros, staleness=zeros, n=sizes, p=sizes,
        first=zeros == 0, version=0, sent={}, base_x=lambda i: zeros,
    )  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("where", ["compute", "download", "upload"])
def test_durations_refuse(where: str, bad: float) -> None:
    kinds = [
        Duration.constant(bad),
        Duration.constant(np.array([1, bad])),
        Duration.uniform(1, bad),
        Duration.exponential(bad),
        Duration.lognormal(bad, 1),
        Duration.lognormal(0, bad),
        Duration.pareto(1, bad),
        Duration.table([[1.0], [bad]]),
    ]
    for duration in kinds:
        timing = Timing(**({"clients": 2, "compute": Duration.constant(1.0)} | {where: duration}))
        with pytest.raises(UsageError, match=rf"^{where}.*must be .*got {bad:g}"):
            Scheduler(timing, Rounds()).next()


@pytest.mark.parametrize("bad", BAD)
def test_the_rest_of_the_clock_refuses(bad: float) -> None:
    good = {"clients": 2, "compute": Duration.constant(1.0, per_step=True)}
    for changes, policy, p in (
        ({"start_seconds": bad}, Rounds(), None),
        ({"max_seconds": bad}, Rounds(), None),
        ({"steps": LocalSteps(normal=(bad, 1.0))}, Rounds(), None),
        ({"steps": LocalSteps(normal=(1.0, bad))}, Rounds(), None),
        ({}, Poll(period_seconds=bad, max_steps=1), None),
        ({}, Rounds(select="weighted", cohort_size=1), np.array([1, bad])),
    ):
        with pytest.raises(UsageError, match=f"{bad:g}"):
            Scheduler(Timing(**(good | changes)), policy, p=p)
