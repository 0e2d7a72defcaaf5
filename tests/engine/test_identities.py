"""Identities between algorithms, bit for bit, on plans of the real scheduler."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.kernels.scheduler import Duration


def x_of(world: Any, selector: str, **timing: Any) -> np.ndarray[Any, Any]:
    x: np.ndarray[Any, Any] = world(**timing).run(registry.algorithm(selector)).state.x
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("left", "right", "timing"),
    [
        ("fedbuff[buffer_size=8]", "fedavg[sampling=all]", {"durations": 2.0}),
        ("fedbuff[buffer_size=8,restart=self]", "fedavg[sampling=all]", {"durations": 2.0}),
        ("defedavg_iid[cohort_size=8]", "fedavg[sampling=all]", {"durations": 2.0}),
        ("defedavg_iid[cohort_size=3,receive=peek]", "fedbuff[buffer_size=3,restart=self]", {"durations": np.arange(1.0, 9.0)}),
        (
            "fedbuff[buffer_size=1,concurrency=1,server_lr=0.6]",
            "fedasync[mixing=0.6,staleness=constant,prox=0,concurrency=1]",
            {},
        ),
    ],
)
def test_bit_for_bit(left: str, right: str, timing: dict[str, Any], dtype: str, world: Any) -> None:
    a, b = (x_of(world, selector, dtype=dtype, **timing) for selector in (left, right))
    if "fedasync" in right:  # x + al (y - x) against (1 - al) x + al y: the same number, rounded differently
        assert np.allclose(a, b, rtol=1e-6 if dtype == "float32" else 1e-14, atol=1e-6 if dtype == "float32" else 1e-14)
    else:
        assert a.tobytes() == b.tobytes()
    assert not np.array_equal(a, np.linspace(-1, 1, 6).astype(dtype))


def test_the_identity_needs_its_condition(world: Any) -> None:
    """With unequal durations FedBuff(M = M_c = N) is no longer FedAvg: the test above can fail."""
    a, b = (x_of(world, s, durations=np.arange(1.0, 9.0)) for s in ("fedbuff[buffer_size=8]", "fedavg[sampling=all]"))
    assert not np.array_equal(a, b)


def test_peek_is_fedbuff_only_without_download_time(world: Any) -> None:
    timing = {"durations": np.arange(1.0, 9.0), "download": Duration(a=0.25)}
    a = x_of(world, "defedavg_iid[cohort_size=3,receive=peek]", **timing)
    assert not np.array_equal(a, x_of(world, "fedbuff[buffer_size=3,restart=self]", **timing))


def test_scaffold_finds_the_optimum_where_fedavg_does_not(world: Any) -> None:
    """Unequal local steps: FedAvg's fixed point is biased, SCAFFOLD's is x* (uniform weights)."""
    w = world(updates=1500, dtype="float64")
    optimum = np.linalg.solve(w.problem.A.sum(0), np.einsum("ijk,ik->j", w.problem.A, w.problem.c))
    scaffold = w.run(registry.algorithm("scaffold[sampling=all,local_lr=0.1]")).state.x
    fedavg = w.run(registry.algorithm("fedavg[sampling=all,local_lr=0.1]")).state.x
    assert np.linalg.norm(scaffold - optimum) < 1e-8
    assert np.linalg.norm(fedavg - optimum) > 1e-3


def test_fedavg_ends_at_its_closed_form(world: Any) -> None:
    """x = (sum B_i)^-1 sum B_i c_i, B_i = I - (I - lr A_i)^K_i."""
    w = world(updates=1500, dtype="float64")
    eye = np.eye(6)
    B = [eye - np.linalg.matrix_power(eye - 0.1 * A, i % 3 + 1) for i, A in enumerate(w.problem.A)]
    fixed = np.linalg.solve(sum(B), sum(b @ c for b, c in zip(B, w.problem.c, strict=True)))
    x = w.run(registry.algorithm("fedavg[sampling=all,local_lr=0.1]")).state.x
    assert np.linalg.norm(x - fixed) < 1e-10
