"""Distillation: the same bits on every instruction set, the numpy sentence, autograd, and the cases
that a formula gets wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from fedbench import kernels
from fedbench.bench import truth
from fedbench.kernels.distill import Distilled, distill, softmax

Array = npt.NDArray[Any]
DTYPES = [np.float32, np.float64]
SHAPES = [(1, 2), (3, 3), (8, 10), (9, 10), (17, 31), (5, 32), (5, 33), (2, 40), (3, 100), (2, 1025), (1, 50_000)]
NAMES = [f.name for f in fields(Distilled)]
KINDS = ["logits", "probabilities"]


def logits(seed: int, rows: int, classes: int, dtype: Any, scale: float = 3.0) -> tuple[Array, Array]:
    s, t = np.random.default_rng(seed).standard_normal((2, rows, classes)) * scale
    return s.astype(dtype), t.astype(dtype)


def teacher_of(kind: str, t: Array) -> Array:
    """Logits, or probabilities with some exact zeros."""
    if kind == "logits":
        return t
    p = np.exp(truth.log_softmax(t.astype(np.float64)))
    p[p < p.max(axis=1, keepdims=True) * 1e-3] = 0
    return (p / p.sum(axis=1, keepdims=True)).astype(t.dtype)


@pytest.fixture
def backend(backend_name: str) -> Callable[..., Any]:
    if backend_name == "reference":
        return lambda s, t, low, high, kind="logits": Distilled(**truth.distill(s, t, low, high, kind))
    return lambda s, t, low, high, kind="logits": distill(s, t, low, high, kind=kind, isa=backend_name)


def close(got: Distilled, want: dict[str, Any], tolerance: float) -> None:
    """Relative to the largest value of an output, at least to its natural size: 1, and 1 / B for
    the gradient (Q - .. cancels)."""
    for name in NAMES:
        a, b = np.asarray(getattr(got, name), np.float64), np.asarray(want[name], np.float64)
        floor = 1.0 / len(got.grad) if name == "grad" else 1.0
        assert np.abs(a - b).max() <= tolerance * max(floor, np.abs(b).max()), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "classes"), SHAPES)
def test_agrees_with_the_reference(backend: Any, rows: int, classes: int, dtype: Any, kind: str) -> None:
    for seed, scale in ((1, 0.1), (2, 3.0), (3, 30.0)):
        s, t = logits(seed, rows, classes, dtype, scale)
        t = teacher_of(kind, t)
        want = truth.distill(s, t, 0.2, 0.8, kind)
        close(backend(s, t, 0.2, 0.8, kind), want, 1e-6 * max(1, scale / 3) if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "classes"), SHAPES)
def test_same_bits_on_every_instruction_set(rows: int, classes: int, dtype: Any, kind: Any) -> None:
    s, t = logits(7, rows, classes, dtype, 20.0)
    t = teacher_of(kind, t)
    a = distill(s, t, 0.2, 0.8, kind=kind, isa="portable")
    for isa in kernels.build_info()["instruction_sets"]:
        b = distill(s, t, 0.2, 0.8, kind=kind, isa=isa)
        for name in NAMES:
            assert np.asarray(getattr(a, name)).tobytes() == np.asarray(getattr(b, name)).tobytes(), (name, isa)
        short = kernels.distill_gradient(s, t, 0.2, 0.8, kind=kind, isa=isa)
        assert short.tobytes() == a.grad.tobytes(), isa


@pytest.mark.parametrize(("rows", "classes"), [(1, 2), (64, 10), (7, 100)])
def test_the_gradient_is_that_of_autograd(backend: Any, rows: int, classes: int) -> None:
    s, t = logits(4, rows, classes, np.float64)
    student, teacher = torch.tensor(s, requires_grad=True), torch.tensor(t)
    log_p, log_q = torch.log_softmax(teacher, 1), torch.log_softmax(student, 1)
    relative = float(-(log_p.exp() * log_p).sum(1).mean()) / np.log(classes)
    alpha = relative * 0.9 + (1 - relative) * 0.1
    kl = (log_p.exp() * (log_p - log_q)).sum(1)
    loss = (alpha * kl + (1 - alpha) * torch.nn.functional.nll_loss(log_q, teacher.argmax(1), reduction="none")).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    got = backend(s, t, 0.1, 0.9)
    assert got.loss == pytest.approx(loss.item(), rel=1e-9)
    assert student.grad is not None
    assert np.abs(got.grad - student.grad.numpy()).max() <= 1e-9 * float(student.grad.abs().max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("classes", [4, 37])
def test_uniform_and_one_hot_teachers(backend: Any, classes: int, dtype: Any) -> None:
    s, _ = logits(5, 6, classes, dtype)
    uniform = backend(s, np.full((6, classes), 5, dtype), 0.2, 0.8)
    assert uniform.alpha == pytest.approx(0.8, rel=1e-12)
    assert not uniform.label.any()
    one_hot = np.zeros((6, classes), dtype)
    one_hot[np.arange(6), [3, 0, 1, 2, 3, 3]] = 1
    for got in (backend(s, one_hot, 0.2, 0.8, "probabilities"), backend(s, one_hot * 2000, 0.2, 0.8)):
        assert got.alpha == 0.2
        assert got.label.tolist() == [3, 0, 1, 2, 3, 3]
        assert np.array_equal(got.probabilities, one_hot)
        assert not got.entropy.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("classes", [5, 32, 41, 300])
def test_ties_go_to_the_lowest_class(backend: Any, classes: int, dtype: Any) -> None:
    s, t = logits(6, classes, classes, dtype)
    last = np.random.default_rng(1).integers(0, classes, classes)
    first = np.minimum(last, np.random.default_rng(2).integers(0, classes, classes))
    t[np.arange(classes), last] = t[np.arange(classes), first] = 50
    assert backend(s, t, 0.2, 0.8).label.tolist() == first.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("classes", [3, 100])
def test_extreme_logits(backend: Any, classes: int, dtype: Any) -> None:
    s, t = (np.where(z > 0, 1e4, -1e4).astype(dtype) for z in logits(8, 9, classes, dtype))
    got = backend(s, t, 0.2, 0.8)
    close(got, truth.distill(s, t, 0.2, 0.8), 2e-7 if dtype == np.float32 else 1e-12)
    assert np.isfinite(got.grad).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("classes", [3, 100])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(classes: int, dtype: Any, bad: float) -> None:
    """In the student: its row and the loss. In the teacher: everything. Labels stay below C."""
    for isa in ("portable", ""):
        for place in (0, classes - 1):
            s, t = logits(9, 4, classes, dtype)
            wrong = s.copy()
            wrong[2, place] = bad
            got = distill(wrong, t, 0.2, 0.8, isa=isa)
            assert np.isnan(got.loss) or np.isinf(got.loss)
            assert not np.isfinite(got.kl[2])
            assert np.isfinite(np.delete(got.grad, 2, axis=0)).all()
            assert np.isfinite(got.alpha)
            wrong = t.copy()
            wrong[2, place] = bad
            got = distill(s, wrong, 0.2, 0.8, isa=isa)
            assert np.isnan(got.alpha)
            assert np.isnan(got.grad).all()
            assert ((got.label >= 0) & (got.label < classes)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_student_that_is_its_teacher_has_no_gradient(dtype: Any) -> None:
    for classes in (10, 100):
        s, _ = logits(10, 5, classes, dtype)
        got = distill(s, s, 1.0, 1.0)
        assert not got.grad.any()
        assert softmax(s).tobytes() == got.probabilities.tobytes()


def test_out_is_reused() -> None:
    s, t = logits(11, 4, 6, np.float32)
    first = distill(s, t, 0.2, 0.8)
    copy = first.grad.copy()
    first.grad[:] = 0
    again = distill(s, t, 0.2, 0.8, out=first)
    assert again.grad is first.grad
    assert np.array_equal(again.grad, copy)


S32, T32 = logits(0, 3, 4, np.float32)
OUT = distill(S32, T32, 0.2, 0.8)


def frozen(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


REFUSED: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (
        TypeError,
        r"student: expected float32 or float64 \(B, C\) C-contiguous, got int64 \(3, 4\)",
        lambda: distill(np.ones((3, 4), np.int64), T32, 0, 1),
    ),  # type: ignore[arg-type]
    (TypeError, "student: expected .* got list", lambda: distill([[1.0]], T32, 0, 1)),  # type: ignore[arg-type]
    (TypeError, r"teacher: expected float32 \(B, C\) C-contiguous, got float64", lambda: distill(S32, T32.astype(float), 0, 1)),
    (TypeError, r"student: .* not C-contiguous", lambda: distill(np.asfortranarray(S32), T32, 0, 1)),
    (
        TypeError,
        r"student: expected float32 or float64 \(B, C\) C-contiguous, got float32 \(4,\)",
        lambda: distill(S32[0], T32[0], 0, 1),
    ),
    (TypeError, r"teacher: expected the student's shape \(3, 4\)", lambda: distill(S32, T32[:2], 0, 1)),
    (ValueError, "at least 2 classes, got 1", lambda: distill(S32[:, :1].copy(), T32[:, :1].copy(), 0, 1)),
    (ValueError, "at least one row", lambda: distill(S32[:0], T32[:0], 0, 1)),
    (ValueError, "kind: expected logits", lambda: distill(S32, T32, 0, 1, kind="odds")),  # type: ignore[arg-type]
    (ValueError, "grad: must not overlap student", lambda: distill(S32, T32, 0, 1, out=replace(OUT, grad=S32))),
    (
        ValueError,
        "grad: must not overlap probabilities",
        lambda: distill(S32, T32, 0, 1, out=replace(OUT, grad=OUT.probabilities)),
    ),
    (ValueError, "kl: must not overlap ce", lambda: distill(S32, T32, 0, 1, out=replace(OUT, kl=OUT.ce))),
    (TypeError, "grad: expected a writeable", lambda: distill(S32, T32, 0, 1, out=replace(OUT, grad=frozen(OUT.grad)))),
    (TypeError, "ce: expected length 3", lambda: distill(S32, T32, 0, 1, out=replace(OUT, ce=np.ones(4)))),
    (
        TypeError,
        r"grad: expected shape \(3, 4\)",
        lambda: distill(S32, T32, 0, 1, out=replace(OUT, grad=np.ones((4, 3), np.float32))),
    ),
    (ValueError, "isa: expected one of portable", lambda: distill(S32, T32, 0, 1, isa="neon")),
]


@pytest.mark.parametrize(("error", "message", "call"), REFUSED, ids=range(len(REFUSED)))
def test_refused(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=message):
        call()
