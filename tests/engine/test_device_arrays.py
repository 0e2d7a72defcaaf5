"""Arrays on a device, and the kernels' doors that take them: numpy's bits, dtypes and refusals."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fedbench import kernels as k
from fedbench.engine.isolation.algorithm import Isolated
from fedbench.engine.place import Form, Place, on_host, server_place
from fedbench.engine.trainers.choose import Choice
from fedbench.errors import FedbenchError
from fedbench.kernels import TeacherMean
from fedbench.protocols import Algorithm
from fedbench.tables import ClientTable
from fedbench.types import Array, Message
from tests.kernels import emulated
from tests.kernels.test_cuda import same as same_bits

from .test_on_device import numbers, place

__all__ = ["place"]
DTYPES = [np.float32, np.float64]


def drawn(dtype: Any, rows: int = 4, d: int = 1001) -> Array:
    """Of many sizes, with zeros of both signs, subnormal numbers, infinities and NaN."""
    random = np.random.default_rng(rows)
    made = (random.standard_normal((rows, d)) * np.exp2(random.integers(-40, 41, (rows, d)))).astype(dtype)
    odd = [0.0, -0.0, np.finfo(dtype).smallest_subnormal, np.inf, -np.inf, np.nan]
    made[:, : len(odd)] = odd
    made[1] = np.roll(made[1], 3)
    return made


def same(got: Any, want: Any) -> None:
    same_bits(np.asarray(numbers(got)), np.asarray(want))


FORMULAS: dict[str, Callable[..., Any]] = {
    "a fused multiply-add would differ": lambda x, y: x + 0.1 * y,
    "the reciprocal would differ": lambda x, y: x / 3,
    "a number first": lambda x, y: (1 - 0.3) * x - y / 7.0,
    "two arrays": lambda x, y: x * y - x / y,
    "negative": lambda x, y: -x,
    "zeros of both signs": lambda x, y: x * 0.0 + y * -0.0,
    "a float of numpy widens": lambda x, y: np.float64(0.1) * x + y,
    "an integer of numpy widens": lambda x, y: x / np.int64(3),
    "a float beyond float32": lambda x, y: x * 1e300,
    "wide": lambda x, y: np.subtract(x, y, dtype=np.float64),
    "to float32": lambda x, y: (x.astype(np.float64) / 3).astype(np.float32),
    "zeros": lambda x, y: np.zeros_like(x, shape=5),
    "full": lambda x, y: np.full_like(x, np.nan),
    "stack": lambda x, y: np.stack([x, y]),
    "append": lambda x, y: np.append(x, x.dtype.type(0.1)),
    "rows": lambda x, y: np.stack([x, y])[np.array([1, 0, 1])],
    "parts": lambda x, y: x[:-1] + x[1:],
}


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_formulas_have_the_bits_of_numpy(formula: str, dtype: Any, place: Place) -> None:
    x, y = drawn(dtype, 2)
    with np.errstate(all="ignore"):
        want = FORMULAS[formula](x, y)
        same(FORMULAS[formula](place(x), place(y)), want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_place(dtype: Any, place: Place) -> None:
    total, x = np.arange(5.0), np.array([0.1, 3, 2, 1, 0], dtype)
    there = place(total)
    kept: Any = there
    there += place(x)
    there -= place(x[::-1].copy())
    assert there is kept
    same(there, total + x - x[::-1])
    there[:] = 0
    there[1:3] = place(x[:2])
    same(there, [0, float(x[0]), float(x[1]), 0, 0])
    assert float(place(x)[1]) == 3
    assert bool(np.isfinite(place(x)).all())
    assert not np.isfinite(place(drawn(dtype))).all()
    assert np.array_equal(place(x), place(x))
    assert not np.array_equal(place(x), place(x + 1))


REFUSED: dict[str, tuple[Callable[[Any, Array], Any], str]] = {
    "another ufunc": (lambda a, x: np.exp(a), "numpy.exp: is not there for arrays on a device"),
    "a comparison": (lambda a, x: a == a[:], "numpy.equal: is not there"),
    "a reduction": (lambda a, x: np.add.reduce(a), "numpy.add.reduce: is not there"),
    "another function": (lambda a, x: np.median(a), "numpy.median: is not there"),
    "numbers": (lambda a, x: np.asarray(a), "not copied to the host unasked: .*float32 \\(3,\\)"),
    "a list": (lambda a, x: np.array([a, a]), "not copied to the host unasked"),
    "an array of the host": (lambda a, x: a + x, "got float32 \\(3,\\) on the host"),
    "an array of the host first": (lambda a, x: x - a, "got float32 \\(3,\\) on the host"),
    "a stack with one": (lambda a, x: np.stack([a, x]), "go with arrays there only"),
    "truth": (lambda a, x: not a, "neither true nor false"),
    "a mask": (lambda a, x: a[x > 0], "has no part"),
    "a wider result": (lambda a, x: np.add(a, np.float64(1), out=a), "its result is float64 \\(3,\\), which .* cannot take"),
    "of the host for a kernel": (
        k.dot,
        "b: expected float32 .* on a CUDA device, got float32 \\(3,\\) on the CPU",
    ),
    "of a device for a kernel": (lambda a, x: k.dot(x, a), "b: expected float32 .*, got float32 \\(3,\\) on a CUDA device"),
    "one of several": (lambda a, x: k.mean([x, a]), "vectors\\[1\\]: expected float32"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, place: Place) -> None:
    use, message = REFUSED[case]
    x = np.ones(3, np.float32)
    with pytest.raises(TypeError, match=message):
        use(place(x), x)


def test_read_only_arrays_and_their_views_stay_so(place: Place) -> None:
    x = np.ones(3)
    message = Message(x=place(x)).frozen()
    for frozen in (message.x, message.x[1:], message.x.view()):
        with pytest.raises(ValueError, match="read-only"):
            frozen[:] = 0
        with pytest.raises(ValueError, match="read-only"):
            frozen.__iadd__(1)
        with pytest.raises(TypeError, match="expected a writeable array"):
            k.clip_sgd(frozen, place(np.ones(len(frozen))), 0.1)
    message.x.copy()[:] = 0
    same(message.x, x)


def test_an_instruction_set_of_the_host_is_refused(place: Place) -> None:
    x = place(np.ones(3))
    with pytest.raises(ValueError, match="isa: expected none for arrays on a device, got 'avx2'"):
        k.dot(x, x, isa="avx2")


@pytest.mark.parametrize("dtype", DTYPES)
def test_kernels_take_both_by_the_same_names(dtype: Any, place: Place) -> None:
    """With the bits of the host; csrc's kernels themselves are compared in test_cuda.py."""
    made = []
    for put in (place, on_host):
        x, m, v, g = (put(row.copy()) for row in np.nan_to_num(drawn(dtype), nan=0.5, posinf=1, neginf=2) % 1)
        rule = k.AdamRule(0.1, bias_correction=False, step=2)
        s, t = (put(rows) for rows in np.random.default_rng(1).standard_normal((2, 6, 4)).astype(dtype))
        found: list[Any] = [k.norm(x), *k.movement(x, m, g), *k.clip_sgd(x, g, 0.1, 0.5), *k.clip_adam(x, m, v, g, rule, 0.5)]
        k.adaptive_step(x, m, v, v.copy(), g, rule)
        k.sum_adaptive_step(x, m, v, None, [0.1, 0.7], [g, g], rule, use_maximum=False)
        out = np.empty_like(x)
        assert k.weighted_sum([0.1, 0.2], np.stack([x, g]), out=out) is out
        distilled = k.distill(s, t, 0.2, 0.8)
        found += [x, m, v, out, k.softmax(t), k.distill_gradient(s, t, 0.2, 0.8, kind="logits"), *vars(distilled).values()]
        made.append(found)
    for got, want in zip(*made, strict=True):
        same(got, want)


def test_a_table_and_a_teacher_lie_where_their_rows_do(place: Place) -> None:
    """Also if a table is larger than what spills to files on the host."""
    rows = np.random.default_rng(2).standard_normal((3, 5, 2))
    made = []
    for put in (place, on_host):
        table, teacher = ClientTable(4, put(rows[0]), spill_bytes=0), TeacherMean(5, 2, np.float64, "probabilities")
        for client in (2, 0, 2):
            table[client] = put(rows[client] + 1)
            teacher.replace(client, put(rows[client] - 1))
        table.leave_out(0)
        copies = ClientTable.restore(table.snapshot()), TeacherMean.restore(teacher.snapshot())
        made.append(
            [table.dense(), table.sum, table.mean(), table.total, teacher.mean([4, 0]), teacher.mean(), teacher.stored(2)]
        )
        for one, other in zip(
            [copies[0].dense(), copies[0].total, copies[1].mean()],
            [table.dense(), table.total, teacher.mean()],
            strict=True,
        ):
            same(one, numbers(other))
    for got, want in zip(*made, strict=True):
        assert type(got) is type(place(rows))
        same(got, want)
    teacher = TeacherMean(1, 2)
    with pytest.raises(ValueError, match=r"expected finite values, got inf \(client 3\)"):
        teacher.replace(3, place(np.array([[1, np.inf]], np.float32)))


def test_a_model_stays_where_it_is(place: Place) -> None:
    x = np.ones(3, np.float32)
    Form.of(place(x)).check("mine.step", place(x + 1))
    with pytest.raises(FedbenchError, match=r"mine.step: x must stay float32 \(3,\) on a CUDA device, got float32 \(3,\);"):
        Form.of(place(x)).check("mine.step", x)
    with pytest.raises(FedbenchError, match=r"mine.step: x must stay float32 \(3,\), got float32 \(3,\) on a CUDA device;"):
        Form.of(x).check("mine.step", place(x))
    with pytest.raises(FedbenchError, match=r"got float64 \(3,\) on a CUDA device; a numpy float64 scalar"):
        Form.of(place(x)).check("mine.step", place(x) * np.float64(1))


def test_the_server_is_on_the_trainers_device_if_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on the CPU, not without the kernels, and not of an algorithm in a process of its own."""
    plain, apart = object.__new__(Algorithm), object.__new__(Isolated)
    on_gpu = Choice("torch", "asked for device cuda", "cuda")
    monkeypatch.setitem(sys.modules, "fedbench.kernels.cuda", emulated.load().kernels)
    monkeypatch.setattr(k, "cuda", emulated.load().kernels, raising=False)
    monkeypatch.setitem(sys.modules, "fedbench.kernels.cuda_later", emulated.later())
    monkeypatch.setattr(k, "cuda_later", emulated.later(), raising=False)
    assert server_place(on_gpu, plain) is not on_host
    assert server_place(on_gpu, apart) is on_host
    assert server_place(Choice("torch", "asked for"), plain) is on_host
    monkeypatch.undo()
    if k.build_info()["cuda"] is False:
        assert server_place(on_gpu, plain) is on_host
