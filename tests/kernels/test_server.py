"""Server mathematics by hand: aggregation weights, staleness weights, agreement of directions."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedbench import kernels
from fedbench.errors import UsageError
from fedbench.types import Batch, Info

N = np.array([10.0, 30.0, 40.0, 20.0])
P = np.array([0.1, 0.2, 0.4, 0.3])
INFO = Info(4, N, P)


def batch(*clients: int) -> Batch:
    index = np.array(clients, np.int32)
    zeros = np.zeros(len(clients), np.int32)
    return Batch(
        clients=index,
        steps=zeros + 1,
        base=zeros,
        staleness=zeros,
        n=N[index],
        p=P[index],
        first=np.ones(len(clients), np.bool_),
        version=0,
        sent={},
        base_x=lambda i: np.zeros(2),
    )


@pytest.mark.parametrize(
    ("rule", "clients", "expected"),
    [
        ("uniform", (1, 3), [1 / 2, 1 / 2]),
        ("uniform", (1, 1, 1, 3), [1 / 4] * 4),
        ("examples", (1, 3), [30 / 50, 20 / 50]),
        ("examples", (0, 0, 3), [10 / 40, 10 / 40, 20 / 40]),
        ("p", (3, 0, 1, 2), [0.3, 0.1, 0.2, 0.4]),
        ("p_normalised", (1, 3), [0.2 / 0.5, 0.3 / 0.5]),
        ("p_normalised", (2, 2), [0.5, 0.5]),
        ("unbiased", (1, 3), [4 * 0.2 / 2, 4 * 0.3 / 2]),
        ("unbiased", (2,), [4 * 0.4]),
    ],
)
def test_weights(rule: Any, clients: tuple[int, ...], expected: list[float]) -> None:
    got = kernels.weights(rule, batch(*clients), INFO)
    assert got.dtype == np.float64
    assert got == pytest.approx(expected, rel=1e-15)


def test_unbiased_weights_are_unbiased() -> None:
    """Over all pairs, each client's mean weight is p_i times the chance 1/2 of being in a pair,
    times 2: sum a_i = 1 on average."""
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    total = np.zeros(4)
    for pair in pairs:
        np.add.at(total, list(pair), kernels.weights("unbiased", batch(*pair), INFO))
    assert total / len(pairs) == pytest.approx(P, rel=1e-15)


@pytest.mark.parametrize("clients", [(0, 1, 2), (0, 1, 2, 2), (0,), (0, 1, 2, 3, 3)])
def test_p_needs_everybody_exactly_once(clients: tuple[int, ...]) -> None:
    with pytest.raises(
        UsageError, match=rf"every one of the 4 clients exactly once .* {len(clients)} entries of {len(set(clients))} clients"
    ):
        kernels.weights("p", batch(*clients), INFO)


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(UsageError, match="weights: unknown rule 'median'"):
        kernels.weights("median", batch(0), INFO)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="staleness: unknown rule 'exp'"):
        kernels.staleness_weight("exp", [0])  # type: ignore[arg-type]


def test_participation_weights() -> None:
    assert kernels.participation_weights(batch(2, 0, 1, 3), INFO) == pytest.approx([0.4, 0.1, 0.2, 0.3])
    assert kernels.participation_weights(batch(2, 0), INFO) == pytest.approx([0.5, 0.5])
    assert kernels.participation_weights(batch(2, 0, 1, 1), INFO) == pytest.approx([0.25] * 4)


def test_p_defaults_to_the_share_of_examples() -> None:
    calls: list[int] = []

    def examples() -> Any:
        calls.append(1)
        return N

    info = Info(4, examples)
    assert not calls
    assert info.p.tolist() == [0.1, 0.3, 0.4, 0.2]
    assert info.n is N
    assert len(calls) == 1


def test_staleness_weights() -> None:
    tau = np.array([0, 1, 3, 4, 5, 8])
    assert kernels.staleness_weight("constant", tau).tolist() == [1] * 6
    assert kernels.staleness_weight("poly", tau, a=0.5) == pytest.approx(
        [1, 1 / math.sqrt(2), 1 / 2, 1 / math.sqrt(5), 1 / math.sqrt(6), 1 / 3]
    )
    assert kernels.staleness_weight("poly", tau, a=1) == pytest.approx([1, 1 / 2, 1 / 4, 1 / 5, 1 / 6, 1 / 9])
    assert kernels.staleness_weight("hinge", tau, a=10, b=4) == pytest.approx([1, 1, 1, 1, 1 / 11, 1 / 41])
    assert kernels.staleness_weight("hinge", tau, a=0.5, b=3) == pytest.approx([1, 1, 1, 1 / 1.5, 1 / 2, 1 / 3.5])
    assert kernels.staleness_weight("poly", tau, a=0).tolist() == [1] * 6


@pytest.mark.parametrize("rule", ["constant", "poly", "hinge"])
def test_staleness_weights_are_1_when_fresh_and_never_grow(rule: Any) -> None:
    s = kernels.staleness_weight(rule, np.arange(100), a=0.7, b=6)
    assert s.dtype == np.float64
    assert s[0] == 1
    assert (np.diff(s) <= 0).all()
    assert (s > 0).all()


@given(st.floats(1e-300, 1e300), st.floats(-3, 3))
def test_a_power_is_rounded_correctly(base: float, exponent: float) -> None:
    with localcontext(prec=50):
        exact = Decimal(base) ** Decimal(exponent)
        assume(Decimal("1e-300") < exact < Decimal("1e300"))
        assert float(kernels.power(base, exponent)) == float(exact)


@pytest.mark.parametrize(
    ("base", "exponent", "shape"),
    [(2, 3, ()), ([4], -0.5, (1,)), ([[1], [2]], 2, (2, 1)), (2, [1, 2], (2,)), ([], 2, (0,)), (0, [0, 0.5, 3], (3,))],
)
def test_powers_have_the_shape_of_what_is_given(base: Any, exponent: Any, shape: tuple[int, ...]) -> None:
    found = kernels.power(base, exponent)
    assert found.shape == shape
    assert found.tolist() == (np.array(base, float) ** np.array(exponent, float)).tolist()


@pytest.mark.parametrize(
    ("base", "exponent", "message"),
    [
        ([1, -1], 2, r"expected finite bases >= 0, got \[1\.0, -1\.0\]"),
        (float("inf"), 2, "expected finite bases >= 0, got"),
        ([1, 0], -2, r"expected exponents >= 0 for a base of 0, got \[?-2\.0\]?"),
        (2, [1, float("nan")], "expected finite exponents, got"),
        ([1, 2], [1, 2, 3], r"got shapes \(2,\) and \(3,\)"),
    ],
)
def test_powers_are_refused(base: Any, exponent: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"power: .*{message}"):
        kernels.power(base, exponent)


def test_an_ordered_sum_rounds_after_every_number() -> None:
    """As `sum` did up to Python 3.11; without the roundings it would be 1, and 2."""
    assert kernels.ordered_sum([0.1] * 10) == 0.9999999999999999
    assert kernels.ordered_sum([1e100, 1.0, -1e100, 1.0]) == 1.0
    assert repr(kernels.ordered_sum(())) == "0.0"


@pytest.mark.parametrize(
    ("seconds", "steps", "expected"),
    [
        ([1, 2, 0.5], 16, [8, 4, 16]),
        ([1, 1.5, 3, 11], 10, [10, 6, 3, 1]),  # of 6.67, 3.33 and 0.91
        ([3, 3, 3], 7, [7, 7, 7]),
        ([0.3, 1.5], 10, [10, 2]),
        ([0.1, 4.9], 98, [98, 2]),  # 98 (0.1 / 4.9) is 2 less a rounding error
        ([5], 1, [1]),
    ],
)
def test_steps_by_speed(seconds: list[float], steps: int, expected: list[int]) -> None:
    got = kernels.steps_by_speed(np.array(seconds, np.float64), steps)
    assert got.dtype == np.int64
    assert got.tolist() == expected


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=20), st.integers(1, 2**31 - 1))
def test_slower_clients_have_fewer_steps(seconds: list[float], steps: int) -> None:
    """The fastest has all, nobody none, and only who has one step takes longer than the fastest,
    but for what keeps whole numbers whole."""
    step_seconds = np.array(seconds)
    got = kernels.steps_by_speed(step_seconds, steps)
    assert got[step_seconds.argmin()] == got.max() == steps
    assert got.min() >= 1
    assert (np.diff(got[np.argsort(step_seconds)]) <= 0).all()
    took, longest = got * step_seconds, steps * step_seconds.min()
    assert ((got == 1) | (took <= longest * (1 + 1e-12) + 1e-9 * step_seconds)).all()
    assert ((got + 1) * step_seconds > longest * (1 - 1e-12)).all()


@given(st.floats(1e-6, 1e6), st.lists(st.integers(1, 2000), min_size=1, max_size=9), st.integers(1, 500))
@example(1.0, [49], 1)
def test_whole_ratios_are_exact(fastest: float, slower: list[int], each: int) -> None:
    """A client that is r times as slow has 1/r of the steps, where r divides them."""
    for ratio in slower:
        assert kernels.steps_by_speed(np.array([fastest, ratio * fastest]), ratio * each).tolist() == [ratio * each, each]


def test_direction_cosine() -> None:
    base, moved = np.array([1.0, 1.0]), np.array([3.0, 4.0])
    x = base + moved
    assert kernels.direction_cosine(x, base, np.array([4.0, 3.0])) == pytest.approx(24 / 25, rel=1e-15)
    assert kernels.direction_cosine(x, base, 7 * moved) == pytest.approx(1, rel=1e-15)
    assert kernels.direction_cosine(x, base, -moved) == pytest.approx(-1, rel=1e-15)
    assert kernels.direction_cosine(x, base, np.array([-4.0, 3.0])) == 0
    assert kernels.direction_cosine(x, base, np.zeros(2)) == 0
    assert kernels.direction_cosine(base, base, moved) is None


def test_direction_angle() -> None:
    """Degrees, between x - base and delta."""
    base, moved = np.array([1.0, 1.0]), np.array([3.0, 4.0])
    x = base + moved
    assert kernels.direction_angle(x, base, np.array([-4.0, 3.0])) == 90
    assert kernels.direction_angle(x, base, -7 * moved) == 180
    assert kernels.direction_angle(x, base, 7 * moved) == 0
    assert kernels.direction_angle(np.array([1.0, 6.0]), np.zeros(2), np.array([3.0, 18.0])) == 0  # a cosine above 1 by rounding
    assert kernels.direction_angle(x, base, np.array([7.0, 1.0])) == pytest.approx(45, rel=1e-14)
    assert kernels.direction_angle(x, base, np.array([4.0, 3.0])) == pytest.approx(math.degrees(math.acos(24 / 25)), rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_has_an_angle_with_zero(dtype: Any) -> None:
    x, zero = np.array([3, 4], dtype), np.zeros(2, dtype)
    assert kernels.direction_angle(x, x, x) == 0
    assert kernels.direction_angle(x, zero, zero) == 0
    assert kernels.direction_angle(x, x, zero, smallest=1.0) == 0


def test_an_angle_below_the_smallest_counts_as_none() -> None:
    x, zero = np.array([1.0, 0.0]), np.zeros(2)
    for degrees in (0.0009, 0.0011, 44.9, 45.1):
        delta = np.array([1.0, math.tan(math.radians(degrees))])
        assert kernels.direction_angle(x, zero, delta) == pytest.approx(degrees, rel=1e-6)
        for smallest in (1e-3, 45.0):
            want = degrees if degrees >= smallest else 0
            assert kernels.direction_angle(x, zero, delta, smallest=smallest) == pytest.approx(want, rel=1e-6)
    right = np.array([0.0, 1.0])
    assert kernels.direction_angle(x, zero, right, smallest=90.0) == 90


SOME = arrays(np.float64, 4, elements=st.floats(-1e3, 1e3).filter(lambda value: value == 0 or abs(value) > 1e-3))


@given(SOME, SOME, st.floats(1e-3, 1e3), st.floats(0, 180))
def test_angles_are_symmetric_and_have_no_length(a: Any, b: Any, factor: float, smallest: float) -> None:
    zero = np.zeros(4)
    angle = kernels.direction_angle(a, zero, b)
    assert 0 <= angle <= 180
    assert kernels.direction_angle(b, zero, a) == pytest.approx(angle, abs=1e-5)  # acos is steep at 1 and -1
    assert kernels.direction_angle(a, zero, factor * b) == pytest.approx(angle, abs=1e-5)
    if a.any() and b.any():
        assert kernels.direction_angle(a, zero, -b) == pytest.approx(180 - angle, abs=1e-5)
    else:
        assert angle == 0
    assert kernels.direction_angle(a, zero, b, smallest=smallest) == (angle if angle >= smallest else 0)
