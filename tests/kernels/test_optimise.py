"""Optimiser steps: every backend gives the bits of the numpy sentences; torch agrees; edges of
clipping; what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from fedbench import _core
from fedbench.bench import truth
from fedbench.kernels import AdamRule, accumulate, adaptive_step, clip_adam, clip_sgd, sum_adaptive_step
from tests.kernels import reference

Array = npt.NDArray[Any]
DTYPES = [np.float32, np.float64]
LENGTHS = [0, 1, 7, 8, 9, 4095, 4097, 9000]


def vectors(seed: int, count: int, d: int, dtype: Any) -> list[Array]:
    random = np.random.default_rng(seed)
    values = random.standard_normal((count, d)) * np.exp2(random.integers(-8, 9, (count, d)))
    return list(values.astype(dtype))


def same(a: Any, b: Any) -> None:
    for x, y in zip(a, b, strict=True):
        assert x.dtype == y.dtype
        assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("clip", [None, 1e-3, 5.0, 1e9])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", LENGTHS)
def test_clipped_steps_are_the_reference(isa: str, d: int, dtype: Any, clip: float | None) -> None:
    x, g, m, v = vectors(d, 4, d, dtype)
    v = abs(v)
    want, norm, factor = reference.clip_sgd(x, g, 0.1, clip)
    y = x.copy()
    assert clip_sgd(y, g, 0.1, clip, isa=isa) == (norm, factor)
    same([y], [want])
    moments: tuple[Array, ...] = (m.copy(), v.copy())
    for step in (1, 2, 3, 1000):
        rule = AdamRule(0.01, step=step)
        x, moments, norm, factor = reference.clip_adam(x, moments, g, rule, clip)
        y = want if step == 1 else y
        if step == 1:
            y = vectors(d, 4, d, dtype)[0]
        assert clip_adam(y, m, v, g, rule, clip, isa=isa) == (norm, factor)
        same([y, m, v], [x, *moments])


@pytest.mark.parametrize("second", ["yogi", "adagrad"])
@pytest.mark.parametrize("clip", [None, 1e-3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 9, 4097])
def test_clipped_steps_with_other_second_moments_are_the_reference(
    isa: str, d: int, dtype: Any, clip: float | None, second: Any
) -> None:
    x, g, m, v = vectors(d, 4, d, dtype)
    v = np.where(np.arange(d) % 3 == 0, abs(v), 0).astype(dtype)  # above and below the squares
    y, new, rule = x.copy(), (m.copy(), v.copy()), AdamRule(0.01, bias_correction=False, second=second)
    for _ in range(3):
        x, (m, v), norm, factor = reference.clip_adam(x, (m, v), g, rule, clip)
        assert clip_adam(y, *new, g, rule, clip, isa=isa) == (norm, factor)
        same([y, *new], [x, m, v])


@pytest.mark.parametrize(("second", "momentum"), reference.KINDS)
@pytest.mark.parametrize("maximum", ["used", "kept", "none"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", LENGTHS)
def test_adaptive_steps_are_the_reference(isa: str, d: int, dtype: Any, maximum: str, second: Any, momentum: str) -> None:
    """Elements of v start above and below D^2, and every third one at it."""
    x, m, *deltas = vectors(d, 5, d, dtype)
    weights = np.array([0.25, -0.5, 0.3])
    first = accumulate.weighted_sum(weights, deltas)
    v, vhat = np.where(np.arange(d) % 3, m * m, first * first), None if maximum == "none" else np.full(d, 0.5, dtype)
    moments = (m.copy(), v.copy()) if vhat is None else (m.copy(), v.copy(), vhat.copy())
    y, fused = x.copy(), [x.copy(), m.copy(), v.copy(), None if vhat is None else vhat.copy()]
    for step in (1, 2, 5):
        rule = AdamRule(0.01, 0.9, 0.99, 1e-3, momentum == "corrected", step, momentum == "ahead", second)
        direction = accumulate.weighted_sum(weights * step, deltas)
        x, moments = truth.adaptive(x, moments, direction, rule, maximum == "used")
        adaptive_step(y, m, v, vhat, direction, rule, use_maximum=maximum == "used", isa=isa)
        sum_adaptive_step(*fused, weights * step, deltas, rule, use_maximum=maximum == "used", isa=isa)  # type: ignore[arg-type, misc]
        same([y, m, v, *([] if vhat is None else [vhat])], [x, *moments])
        same([f for f in fused if f is not None], [x, *moments])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("second", "want"),
    [("adam", [3.25, 4, 10]), ("yogi", [4, 4, 25]), ("adagrad", [5, 8, 32])],
    ids=["adam", "yogi", "adagrad"],
)
def test_the_second_moments_by_hand(isa: str, second: Any, want: list[float], dtype: Any) -> None:
    """beta2 = 1/4, v = (1, 4, 28) and D = (2, 2, 2): Yogi goes up by 3/4 of 4, stays where v = D^2, and goes down by it."""
    x, m, v = (np.array(values, dtype) for values in ([0, 0, 0], [0, 0, 0], [1, 4, 28]))
    rule = AdamRule(1.0, 0.5, 0.25, 0.0, bias_correction=False, second=second)
    adaptive_step(x, m, v, None, np.full(3, 2, dtype), rule, use_maximum=False, isa=isa)
    assert v.tolist() == want
    assert m.tolist() == [1, 1, 1]
    assert x.tolist() == (1 / np.sqrt(v)).tolist()


@pytest.mark.parametrize("amsgrad", [False, True])
def test_torch_agrees(isa: str, amsgrad: bool) -> None:
    x, *gradients = vectors(3, 6, 200, np.float64)
    p = torch.nn.Parameter(torch.tensor(x))
    optimiser = torch.optim.Adam([p], lr=0.05, amsgrad=amsgrad)
    m, v, vhat = np.zeros(200), np.zeros(200), np.zeros(200)
    for step, g in enumerate(gradients, start=1):
        p.grad = torch.tensor(g)
        rule = AdamRule(0.05 * (-1 if amsgrad else 1), step=step)
        if amsgrad:
            adaptive_step(x, m, v, vhat, g, rule, isa=isa)
        else:
            norm = float(torch.nn.utils.clip_grad_norm_([p], math.inf))
            p.grad *= min(1.0, 2.0 / norm)
            assert clip_adam(x, m, v, g, rule, 2.0, isa=isa)[0] == pytest.approx(norm, rel=1e-12)
        optimiser.step()
        assert np.allclose(x, p.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_edges_of_clipping(isa: str, dtype: Any) -> None:
    x = np.ones(2, dtype)
    assert clip_sgd(x, np.zeros(2, dtype), 0.5, 1.0, isa=isa) == (0.0, 1.0)
    assert clip_sgd(x, np.array([3, 4], dtype), 0.5, 5.0, isa=isa) == (5.0, 1.0)
    assert x.tolist() == [-0.5, -1]
    assert clip_sgd(x, np.array([6, 8], dtype), 0.5, 5.0, isa=isa) == (10.0, 0.5)
    assert x.tolist() == [-2, -3]
    m, v = np.zeros(2, dtype), np.zeros(2, dtype)
    clip_adam(x, m, v, np.zeros(2, dtype), AdamRule(0.1), 1.0, isa=isa)
    assert x.tolist() == [-2, -3]


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_finite(isa: str, dtype: Any) -> None:
    for bad in (np.nan, np.inf):
        g = np.array([1, bad, 2], dtype)
        x = np.zeros(3, dtype)
        clip_sgd(x, g, 1.0, isa=isa)
        assert x[[0, 2]].tolist() == [-1, -2]
        assert not np.isfinite(x[1])
        x = np.zeros(3, dtype)
        _, factor = clip_sgd(x, g, 1.0, 1.0, isa=isa)
        assert np.isnan(x[1])
        assert np.isnan(x).all() if np.isnan(bad) else (factor == 0 and x[[0, 2]].tolist() == [0, 0])
    x, m, v, vhat = (np.zeros(3, dtype) for _ in range(4))
    adaptive_step(x, m, v, vhat, np.array([1, np.nan, 2], dtype), AdamRule(0.1), isa=isa)
    adaptive_step(x, m, v, vhat, np.ones(3, dtype), AdamRule(0.1, step=2), isa=isa)
    assert np.isnan([x[1], vhat[1]]).all()
    assert np.isfinite(x[[0, 2]]).all()


@pytest.mark.parametrize("maximum", [True, False])
@pytest.mark.parametrize("second", ["yogi", "adagrad"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_finite_stays_in_its_place(isa: str, dtype: Any, second: Any, maximum: bool) -> None:
    """NaN of D makes v NaN there, an infinity makes it infinite, and nothing else changes."""
    good, rule = np.array([1, 3, 2, -3, 1], dtype), AdamRule(0.1, bias_correction=False, second=second)
    bad = good.copy()
    bad[[1, 3]] = np.nan, -np.inf
    runs = []
    for direction in (good, bad):
        x, m, v, vhat = (np.full(5, value, dtype) for value in (0, 0, 4, 4))
        adaptive_step(x, m, v, vhat, direction, rule, use_maximum=maximum, isa=isa)
        runs.append((x, m, v, vhat))
    assert all(np.array_equal(a[::2], b[::2]) and np.isfinite(b[::2]).all() for a, b in zip(*runs, strict=True))
    x, _, v, vhat = runs[1]
    assert np.isnan([x[1], v[1], vhat[1], x[3]]).all()
    assert np.isinf([v[3], vhat[3]]).all()


A, B, C, D = (np.ones(4, np.float32) for _ in range(4))
RULE = AdamRule(0.1)


def frozen(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


def core_step(bias_correction: bool, second: str) -> None:
    """Makes a step past the checks of AdamRule."""
    _core.adaptive_step(A, (B, C), D, (0.1, 0.9, 0.99, 1e-3, bias_correction, 1, False, second), False, "")


REFUSED: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (TypeError, r"x: expected float32 or float64 \(d,\) C-contiguous, got int64 \(3,\)", lambda: clip_sgd(np.arange(3), A, 1)),  # type: ignore[arg-type]
    (TypeError, r"g: expected float32 \(d,\) C-contiguous, got float64 \(4,\)", lambda: clip_sgd(A, np.ones(4), 1)),
    (TypeError, r"g: expected length 4, got float32 \(3,\)", lambda: clip_sgd(A, B[:3], 1)),
    (TypeError, "x: expected a writeable", lambda: clip_sgd(frozen(A), B, 1)),
    (TypeError, "x: .* not C-contiguous", lambda: clip_sgd(np.ones(8, np.float32)[::2], B, 1)),
    (ValueError, "x: must not overlap g", lambda: clip_sgd(A, A, 1)),
    (ValueError, "clip: must be > 0 or None, got 0", lambda: clip_sgd(A, B, 1, 0)),
    (ValueError, "clip: must be > 0 or None, got nan", lambda: clip_adam(A, B, C, D, RULE, math.nan)),
    (ValueError, "m: must not overlap v", lambda: clip_adam(A, B, B, D, RULE)),
    (TypeError, r"v: expected length 4", lambda: clip_adam(A, B, np.ones(5, np.float32), D, RULE)),
    (ValueError, "step: must be a whole number .* got 0", lambda: clip_adam(A, B, C, D, AdamRule(0.1, step=0))),
    (ValueError, "vhat: expected length 4, got 0", lambda: adaptive_step(A, B, C, None, D, RULE)),
    (ValueError, "ahead: is defined without", lambda: AdamRule(1, ahead=True)),
    (ValueError, "second: yogi is defined without bias correction only", lambda: AdamRule(1, second="yogi")),
    (ValueError, "second: adagrad is defined without bias correction only", lambda: AdamRule(1, second="adagrad")),
    (ValueError, "second: expected adam, yogi or adagrad, got 'rmsprop'", lambda: AdamRule(1, second="rmsprop")),  # type: ignore[arg-type]
    (ValueError, "second: expected adam, yogi or adagrad, got rmsprop", lambda: core_step(False, "rmsprop")),
    (ValueError, "second: yogi and adagrad are defined without bias correction only", lambda: core_step(True, "yogi")),
    (ValueError, "second: yogi and adagrad are defined without bias correction only", lambda: core_step(True, "adagrad")),
    (ValueError, "vhat: must not overlap direction", lambda: adaptive_step(A, B, C, D, D, RULE)),
    (ValueError, "m: must not overlap one of the vectors", lambda: sum_adaptive_step(A, B, C, D, [1.0], [B], RULE)),
    (ValueError, "one weight per vector, got 2 weights for 1", lambda: sum_adaptive_step(A, B, C, D, [1.0, 2], [A + 1], RULE)),
    (TypeError, r"vectors\[0\]: expected", lambda: sum_adaptive_step(A, B, C, D, [1.0], [np.ones(4)], RULE)),
    (ValueError, "at least one vector", lambda: sum_adaptive_step(A, B, C, D, [], [], RULE)),
    (ValueError, "isa: expected", lambda: clip_sgd(A, B, 1, isa="neon")),
]


@pytest.mark.parametrize(("error", "message", "call"), REFUSED, ids=range(len(REFUSED)))
def test_refused(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=message):
        call()
    assert all(array.tolist() == [1] * 4 for array in (A, B, C, D))
