"""Reductions over model vectors: every backend gives the bits of the numpy sentences, and refuses
what it does not take."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedbench import kernels
from fedbench.kernels import accumulate
from tests.kernels import reference

DETERMINISTIC = settings(
    derandomize=True, deadline=None, max_examples=30, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
DTYPES = [np.float32, np.float64]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Backend:
    name: str
    weighted_sum: Callable[[Array, Array], Array]
    dot: Callable[[Array, Array], float]


@pytest.fixture
def backend(backend_name: str) -> Backend:
    isa = backend_name
    if isa == "reference":
        return Backend(isa, reference.weighted_sum, reference.dot)
    return Backend(isa, lambda w, v: accumulate.weighted_sum(w, v, isa=isa), lambda a, b: accumulate.dot(a, b, isa=isa))


def test_the_requested_backend_is_the_active_one() -> None:
    """A name is never answered by another instruction set: what is not there is refused."""
    info = kernels.build_info()
    active = info["instruction_sets"]
    assert active == ["portable", "avx2", "avx512"][: len(active)]
    assert info["instruction_set"] == active[-1]
    v = np.ones((1, 3), np.float32)
    for isa in (*active, ""):
        assert accumulate.weighted_sum([2.0], v, isa=isa).tolist() == [2, 2, 2]
    for isa in ("neon", "AVX2", *{"avx2", "avx512"}.difference(active)):
        with pytest.raises(ValueError, match=f"isa: expected one of portable.* got {isa}"):
            accumulate.weighted_sum([2.0], v, isa=isa)
        with pytest.raises(ValueError, match="isa: expected"):
            accumulate.dot(v[0], v[0], isa=isa)


def vectors(seed: int, count: int, d: int, dtype: Any, spread: int) -> Array:
    """Normal numbers times powers of two in 2^+-spread, some of them zero: no overflow and no
    subnormal in any product."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((count, d)) * np.exp2(random.integers(-spread, spread + 1, (count, d)))
    values[random.random((count, d)) < 0.1] = 0
    return values.astype(dtype)


cases = {
    "seed": st.integers(0, 2**32),
    "count": st.integers(1, 7),
    "d": st.one_of(st.integers(0, 40), st.integers(4080, 4112), st.just(8193)),
    "dtype": st.sampled_from(DTYPES),
    "spread": st.sampled_from([0, 4, 12]),
}


@DETERMINISTIC
@given(**cases)
def test_weighted_sum_equals_the_reference(backend: Backend, seed: int, count: int, d: int, dtype: Any, spread: int) -> None:
    v = vectors(seed, count, d, dtype, spread)
    w = vectors(seed + 1, 1, count, np.float64, spread)[0]
    got = backend.weighted_sum(w, v)
    assert got.dtype == dtype
    assert got.tobytes() == reference.weighted_sum(w, v).tobytes()


@DETERMINISTIC
@given(**cases)
def test_dot_equals_the_reference(backend: Backend, seed: int, count: int, d: int, dtype: Any, spread: int) -> None:
    a, b = vectors(seed, 2, d, dtype, spread)
    assert backend.dot(a, b) == reference.dot(a, b)
    assert backend.dot(a, a) == reference.dot(a, a)


@DETERMINISTIC
@given(**cases)
def test_front_doors_equal_the_reference(seed: int, count: int, d: int, dtype: Any, spread: int) -> None:
    """mean, norm, weighted_sum_norm, rows as a list or in `out`: the reference's bits with the
    weights they stand for."""
    v = vectors(seed, count, d, dtype, spread)
    w = vectors(seed + 1, 1, count, np.float64, spread)[0]
    assert kernels.mean(v).tobytes() == reference.weighted_sum(np.full(count, 1 / count), v).tobytes()
    assert kernels.norm(v[0]) == math.sqrt(reference.dot(v[0], v[0]))
    expected = reference.weighted_sum(w, v)
    out = np.full(d, 7, dtype)
    result, norm2 = accumulate.weighted_sum_norm(w, list(v), out=out)
    assert result is out
    assert out.tobytes() == expected.tobytes()
    assert norm2 == reference.dot(expected, expected)


def test_the_reference_fma_rounds_once() -> None:
    """Against exact rational arithmetic."""
    from fractions import Fraction

    random = np.random.default_rng(3)
    for dtype, bits in ((np.float64, 53), (np.float32, 24)):
        a, b = (random.standard_normal(400).astype(dtype) for _ in range(2))
        c = (-a.astype(np.float64) * b * (1 + np.exp2(-random.integers(1, bits + 5, 400)))).astype(dtype)  # heavy cancellation
        got = reference.fma(a, b, c)
        for x, y, z, g in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
            exact = Fraction(x) * Fraction(y) + Fraction(z)
            ulp = Fraction(2) ** (math.frexp(g)[1] - bits) if g else Fraction(2) ** -200
            assert abs(Fraction(g) - exact) <= ulp / 2


@pytest.mark.parametrize("dtype", DTYPES)
class TestClosedForms:
    def test_weights_that_pick_and_cancel(self, backend: Backend, dtype: Any) -> None:
        v = vectors(5, 3, 100, dtype, 4)
        assert np.array_equal(backend.weighted_sum(np.array([0.0, 1.0, 0.0]), v), v[1])
        assert not backend.weighted_sum(np.array([1.0, 0.0, -1.0]), np.stack([v[0], v[1], v[0]])).any()
        assert np.array_equal(backend.weighted_sum(np.array([-2.0]), v[:1]), -2 * v[0])

    def test_integers_are_exact(self, backend: Backend, dtype: Any) -> None:
        ramp = np.arange(1000, dtype=dtype)
        assert backend.weighted_sum(np.array([1.0, 2.0, 3.0]), np.stack([ramp, ramp, ramp])).tolist() == [
            6.0 * i for i in range(1000)
        ]
        assert backend.dot(ramp, np.ones_like(ramp)) == 999 * 500
        assert backend.dot(ramp, ramp) == 999 * 1000 * 1999 // 6

    def test_one_rounding_a_term(self, backend: Backend, dtype: Any) -> None:
        """(1 + e)^2 - (1 + 2e) is e^2 with a fused product and 0 without."""
        e = dtype(np.finfo(dtype).eps)
        rows = np.array([[1 + 2 * e], [1 + e]], dtype)
        assert backend.weighted_sum(np.array([-1.0, float(1 + e)]), rows)[0] == e * e

    def test_weights_are_rounded_to_the_dtype(self, backend: Backend, dtype: Any) -> None:
        assert backend.weighted_sum(np.array([0.1]), np.ones((1, 9), dtype)).tolist() == [float(dtype(0.1))] * 9

    def test_arrival_order_counts(self, backend: Backend, dtype: Any) -> None:
        big = dtype(2 / np.finfo(dtype).eps)
        v = np.array([[big], [1], [-big]], dtype)
        assert backend.weighted_sum(np.ones(3), v)[0] == 0
        assert backend.weighted_sum(np.ones(3), v[[0, 2, 1]])[0] == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("isa", ["portable", ""])
def test_not_finite_values_propagate(isa: str, dtype: Any) -> None:
    """Not in the reference, whose error-free transformations do not know infinity."""
    v = np.ones((2, 12), dtype)
    v[0, 3], v[0, 9], v[1, 9] = np.inf, np.inf, -np.inf
    out = accumulate.weighted_sum([1.0, 1.0], v, isa=isa)
    assert out[3] == np.inf
    assert np.isnan(out[9])
    assert np.isfinite(np.delete(out, [3, 9])).all()
    assert math.isnan(accumulate.dot(np.zeros_like(v[0]), v[0], isa=isa))
    assert math.isnan(accumulate.dot(v[0], v[1], isa=isa))  # inf * 1 + inf * -inf


def test_float32_sums_in_float64() -> None:
    v = np.full(1 << 17, 0.1, np.float32)
    exact = len(v) * float(np.float32(0.1)) ** 2
    assert kernels.dot(v, v) == pytest.approx(exact, rel=1e-14)
    assert kernels.norm(np.full(4, 1e30, np.float32)) == pytest.approx(2e30, rel=1e-7)


# ---- refused
# -------------------------------------------------------------------------------------------------------------------

V32, V64 = np.ones((3, 4), np.float32), np.ones((3, 4))
W = np.ones(3)


def read_only(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


REFUSED: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (
        TypeError,
        r"vectors: expected float32 or float64 \(K, d\) C-contiguous, got int64 \(3, 4\)",
        lambda: kernels.weighted_sum(W, np.ones((3, 4), np.int64)),
    ),
    (TypeError, r"vectors: expected float32 or float64 .* got float16", lambda: kernels.weighted_sum(W, V32.astype(np.float16))),
    (
        TypeError,
        r"vectors: expected float32 or float64 \(K, d\) C-contiguous, got float32 \(3, 4\) not C-contiguous",
        lambda: kernels.weighted_sum(W, np.asfortranarray(V32)),
    ),
    (TypeError, r"vectors: .* got float64 \(3, 2\) not C-contiguous", lambda: kernels.weighted_sum(W, V64[:, ::2])),
    (
        TypeError,
        r"vectors\[1\]: expected float32 \(d,\) C-contiguous, got float64 \(4,\)",
        lambda: kernels.weighted_sum(W, [V32[0], V64[0], V32[0]]),
    ),
    (
        TypeError,
        r"vectors\[2\]: expected length 4, got float32 \(3,\)",
        lambda: kernels.weighted_sum(W, [V32[0], V32[0], V32[0, :3]]),
    ),
    (TypeError, r"vectors\[1\]: .* not C-contiguous", lambda: kernels.weighted_sum(W[:2], [V32[0], np.ones(8, np.float32)[::2]])),
    (TypeError, r"vectors\[1\]: expected .* got list", lambda: kernels.weighted_sum(W[:2], [V32[0], [1.0] * 4])),  # type: ignore[list-item]
    (
        TypeError,
        r"vectors: expected .* \(K, d\) .* got float32 \(3, 2, 2\)",
        lambda: kernels.weighted_sum(W, np.ones((3, 2, 2), np.float32)),
    ),
    (ValueError, r"expected one weight per vector, got 2 weights for 3 vectors", lambda: kernels.weighted_sum(W[:2], V32)),
    (TypeError, r"weights: expected float64 \(K,\)", lambda: kernels.weighted_sum(np.ones((3, 1)), V32)),
    (ValueError, r"vectors: expected at least one vector, got none", lambda: kernels.weighted_sum([], [])),
    (ValueError, r"vectors: expected at least one vector, got none", lambda: kernels.mean([])),
    (
        TypeError,
        r"out: expected a writeable array, got a read-only one",
        lambda: kernels.weighted_sum(W, V32, out=read_only(V32[0])),
    ),
    (
        TypeError,
        r"out: expected float32 \(d,\) C-contiguous, got float64 \(4,\)",
        lambda: kernels.weighted_sum(W, V32, out=np.ones(4)),
    ),
    (
        TypeError,
        r"vectors: expected rows of length 5, got float32 \(3, 4\)",
        lambda: kernels.weighted_sum(W, V32, out=np.ones(5, np.float32)),
    ),
    (TypeError, r"out: .* not C-contiguous", lambda: kernels.weighted_sum(W, V32, out=np.ones(8, np.float32)[::2])),
    (
        TypeError,
        r"b: expected float32 \(d,\) C-contiguous, got float64 \(4,\)",
        lambda: kernels.dot(V32[0], V64[0]),
    ),
    (TypeError, r"a: expected float32 or float64 \(d,\) C-contiguous, got int64 \(3,\)", lambda: kernels.norm(np.arange(3))),  # type: ignore[arg-type]
    (TypeError, r"a: expected float32 or float64 \(d,\) C-contiguous, got float64 \(3, 4\)", lambda: kernels.dot(V64, V64)),
    (TypeError, r"b: .* got float64 \(4,\) not C-contiguous", lambda: kernels.dot(V64[0], np.ones(8)[::2])),
    (ValueError, r"dot: expected vectors of one length, got 4 and 3", lambda: kernels.dot(V64[0], V64[0, :3])),
]


@pytest.mark.parametrize(("error", "message", "call"), REFUSED, ids=range(len(REFUSED)))
def test_refused(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("first", [0, 1, 3])
def test_out_may_not_overlap_a_vector(first: int) -> None:
    memory = np.arange(12, dtype=np.float64)
    before = memory.copy()
    with pytest.raises(ValueError, match="out: must not overlap one of the vectors"):
        kernels.weighted_sum([1.0], [memory[first : first + 4]], out=memory[1:5] if first else memory[:4])
    assert np.array_equal(memory, before)
    kernels.weighted_sum([2.0], [memory[:4]], out=memory[4:8])  # a neighbour is no overlap
    assert memory[4:8].tolist() == [0, 2, 4, 6]


def test_inputs_are_not_written_and_may_be_read_only() -> None:
    v, w = read_only(vectors(9, 3, 50, np.float32, 2)), read_only(np.array([0.25, 0.5, 2.0]))
    copy = v.copy()
    kernels.weighted_sum(w, v)
    kernels.dot(v[0], v[1])
    assert np.array_equal(v, copy)


def test_mean_of_nothing_is_refused_like_the_others() -> None:
    with pytest.raises(ValueError, match="expected at least one vector"):
        kernels.mean([])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [0, 1, 8, 9, 4096, 4099, 10_000])
def test_movement_is_four_dots_in_one_pass(d: int, dtype: Any) -> None:
    x, base, delta = vectors(d, 3, d, dtype, 4)
    for isa in kernels.build_info()["instruction_sets"]:
        got = accumulate.movement(x, base, delta, isa=isa)
        u = x - base
        assert got == tuple(accumulate.dot(a, b) for a, b in ((x, x), (u, u), (delta, delta), (u, delta)))
    with pytest.raises(TypeError, match=r"delta: expected length 3, got"):
        accumulate.movement(np.zeros(3, dtype), np.zeros(3, dtype), np.zeros(4, dtype))


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize("columns", [0, 1, 2, 3, 4, 10, 37])
def test_rows_and_their_products(rows: int, columns: int) -> None:
    random = np.random.default_rng(0)
    matrix, vector = random.normal(size=(rows, columns)), random.normal(size=columns)
    found = accumulate.row_dots(matrix, vector)
    for row, value in zip(matrix.tolist(), found.tolist(), strict=True):
        exact = sum((Fraction(a) * Fraction(x) for a, x in zip(row, vector.tolist(), strict=True)), Fraction())
        size = sum(abs(a * x) for a, x in zip(row, vector.tolist(), strict=True))
        assert abs(Fraction(value) - exact) <= Fraction(size) * columns * Fraction(np.finfo(np.float64).eps)


def test_products_of_rows_take_float64_that_fits() -> None:
    for matrix, vector in ((np.ones((2, 3)), np.ones(2)), (np.ones((2, 3), np.float32), np.ones(3)), (np.ones(3), np.ones(3))):
        with pytest.raises(TypeError, match=r"vector|matrix"):
            accumulate.row_dots(matrix, vector)
