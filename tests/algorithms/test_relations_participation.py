"""Relations of the algorithms for uneven participation and arrival, with each other and with
FedAvg; where they end on quadratics.

Five clients, unequal local steps and unequal weights p; plans of the real scheduler. What the
algorithm files of the two sides compute by the same operations is equal bit for bit, all else to
rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms.ca2fl import CA2FL
from fedbench.types import Info, Rounds
from tests.algorithms.by_hand import many_clients, run
from tests.algorithms.test_relations_async import EQUAL, UNEQUAL, N, check_relation, distance, trace_of

STEPS = (1, 4, 2, 3, 2)
COHORTS = {"seconds": UNEQUAL, "dispatch": Rounds(select="without_replacement", cohort_size=3)}


class InRounds(CA2FL):
    """CA2FL's server rule in rounds of three drawn clients."""

    def dispatch(self, info: Info) -> Any:
        return COHORTS["dispatch"]


RELATIONS: list[tuple[Any, Any, dict[str, Any], bool]] = [
    # everybody once in every update
    ("msync", "fedavg[sampling=all]", {"seconds": UNEQUAL}, True),
    ("msync[cohort_size=5,server_lr=0.5]", "fedavg[sampling=all,server_lr=0.5]", {"seconds": UNEQUAL}, True),
    ("fedvarp[sampling=all]", "fedavg[sampling=all]", {"seconds": UNEQUAL}, False),
    ("fedawe", "fedavg[sampling=all]", {"seconds": UNEQUAL}, False),
    ("fedawe[server_lr=0.5]", "fedavg[sampling=all,server_lr=0.5]", {"seconds": UNEQUAL}, False),
    ("ace[buffer_size=5,server_lr=1,start=warm]", "fedavg[sampling=all]", {"seconds": EQUAL}, False),
    ("aced[buffer_size=5,server_lr=1]", "fedavg[sampling=all]", {"seconds": EQUAL}, False),
    ("area[buffer_size=5]", "fedavg[sampling=all]", {"seconds": EQUAL}, False),
    ("fedstale[sampling=all]", "fedavg[sampling=all,weights=p]", {"seconds": UNEQUAL}, False),
    ("fedstale[sampling=all,stale_weight=1,weights=uniform]", "fedavg[sampling=all]", {"seconds": UNEQUAL}, False),
    # the same rule under another name
    ("aced[delay_threshold=1000000]", "ace", {"seconds": UNEQUAL}, False),
    ("aced[delay_threshold=1000000,start=seen]", "ace[start=seen]", {"seconds": UNEQUAL}, False),
    ("aced[delay_threshold=1000000,buffer_size=3]", "ace[buffer_size=3]", {"seconds": UNEQUAL}, False),
    ("fedvarp[cohort_size=3]", InRounds(local_lr=0.1), {"seconds": UNEQUAL}, True),
    ("fedstale[cohort_size=3,stale_weight=0]", "fedavg[cohort_size=3,weights=unbiased]", {"seconds": UNEQUAL}, True),
    ("fedstale[cohort_size=3,stale_weight=0,weights=uniform]", "fedavg[cohort_size=3]", {"seconds": UNEQUAL}, False),
    ("fedstale[cohort_size=3,stale_weight=1,weights=uniform]", "fedvarp[cohort_size=3]", {"seconds": UNEQUAL}, False),
    # what is stale is refused, and tasks that are routed
    ("rennala[buffer_size=5]", "fedavg[sampling=all]", {"seconds": EQUAL}, False),
    ("malenia", "fedavg[sampling=all]", {"seconds": EQUAL}, False),
    (
        "ringmaster[delay_threshold=1000,server_lr=0.5]",
        "fedbuff[buffer_size=1,restart=self,server_lr=0.5]",
        {"seconds": UNEQUAL},
        True,
    ),
    ("ringmaster[delay_threshold=1,server_lr=1]", "rennala[buffer_size=1]", {"seconds": UNEQUAL}, True),
    ("ringmaster[delay_threshold=1,server_lr=1,stop_stale=true]", "msync[cohort_size=1]", {"seconds": UNEQUAL}, True),
    ("malenia[stop_stale=true]", "fedbuff[buffer_size=5,restart=self]", {"seconds": EQUAL}, False),
    ("fedstale[cohort_size=3]", f"fedstale[cohort_size=3,participation={[3 / N] * N}]", {"seconds": UNEQUAL}, False),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("left", "right", "timing", "bits"), RELATIONS)
def test_relations(left: Any, right: Any, timing: dict[str, Any], bits: bool, dtype: Any) -> None:
    check_relation(left, right, timing, bits, dtype)


@pytest.mark.parametrize(
    ("left", "right", "timing"),
    [
        ("msync[cohort_size=4]", "fedavg[sampling=all]", {"seconds": UNEQUAL}),
        (
            "ringmaster[delay_threshold=3,server_lr=0.5]",
            "fedbuff[buffer_size=1,restart=self,server_lr=0.5]",
            {"seconds": UNEQUAL},
        ),
        ("malenia", "rennala[buffer_size=5]", {"seconds": UNEQUAL}),
        ("fedvarp[cohort_size=3]", "fedavg[cohort_size=3]", {"seconds": UNEQUAL}),
        ("fedawe[sampling=without_replacement,cohort_size=3]", "fedavg[cohort_size=3]", {"seconds": UNEQUAL}),
        ("area[buffer_size=5]", "fedavg[sampling=all]", {"seconds": UNEQUAL}),
        ("aced[delay_threshold=3]", "ace", {"seconds": UNEQUAL}),
        ("fedstale[cohort_size=3,stale_weight=0.5,weights=uniform]", "fedvarp[cohort_size=3]", {"seconds": UNEQUAL}),
        ("fedstale[cohort_size=3]", "fedstale[cohort_size=3,participation=interval]", {"seconds": UNEQUAL}),
    ],
)
def test_a_relation_needs_its_condition(left: str, right: str, timing: dict[str, Any]) -> None:
    assert distance(*(trace_of(selector, **timing) for selector in (left, right))) > 1e-3


@pytest.mark.parametrize(
    "selector",
    [
        "msync",
        "ringmaster",
        "rennala[buffer_size=1]",
        "malenia",
        "ace",
        "aced",
        "fedvarp[sampling=all]",
        "fedstale[sampling=all]",
        "fedawe",
        "area",
    ],
)
def test_one_client_is_plain_sgd(selector: str) -> None:
    trace, problem = trace_of(selector, clients=1, steps=3), many_clients(1, 3, seed=4)
    x = trace.x[0]
    for got in trace.x[1:]:
        for _ in range(3):
            x = x - 0.1 * problem.A[0] @ (x - problem.c[0])
        assert got == pytest.approx(x, rel=1e-12)


def away_from_the_common_limit(selector: str) -> float:
    """Distance after 1500 updates from (sum B_i)^-1 sum B_i c_i with B_i = I - (I - local_lr
    A_i)^K_i."""
    problem, eye = many_clients(N, 3, seed=4), np.eye(3)
    B = np.array([eye - np.linalg.matrix_power(eye - 0.1 * A, K) for A, K in zip(problem.A, STEPS, strict=True)])
    limit = np.linalg.solve(B.sum(axis=0), np.einsum("ijk,ik->j", B, problem.c))
    return float(np.abs(trace_of(selector, seconds=UNEQUAL, updates=1500).x[-1] - limit).max())


@pytest.mark.parametrize(
    "selector",
    [
        "ace",
        "ace[start=seen,buffer_size=2]",
        "aced[delay_threshold=40]",
        "area",
        "area[buffer_size=3]",
        "malenia",
        "malenia[buffer_size=9.5,stop_stale=true]",
        "fedvarp[cohort_size=2]",
        "fedstale[cohort_size=2,stale_weight=1,weights=uniform]",
    ],
)
def test_whoever_arrives_how_often_the_limit_is_the_same(selector: str) -> None:
    assert away_from_the_common_limit(selector) < 1e-9


@pytest.mark.parametrize(
    "selector",
    ["fedbuff[buffer_size=1,restart=self]", "fedavg[cohort_size=2]", "aced[delay_threshold=3]", "rennala[buffer_size=5]"],
)
def test_without_everybodys_results_it_is_another(selector: str) -> None:
    assert away_from_the_common_limit(selector) > 0.01


@pytest.mark.parametrize(
    "selector",
    ["msync[cohort_size=3]", "aced[delay_threshold=3]", "fedvarp[cohort_size=3]", "fedstale[cohort_size=3]", "fedawe", "area"],
)
def test_moving_the_world_moves_the_models_along(selector: str) -> None:
    """All F_i and x0 shifted by one vector: so is every version."""
    shift, problem = np.array([0.5, -1.0, 2.0]), many_clients(N, 3, seed=4)
    moved = type(problem)(problem.examples, problem.weights, problem.dim, problem.A, problem.c + shift)
    here, there = (
        run(registry.algorithm(selector), world, 20, seconds=UNEQUAL, x0=x0)
        for world, x0 in ((problem, np.ones(3)), (moved, np.ones(3) + shift))
    )
    assert np.stack(there.x) - shift == pytest.approx(np.stack(here.x), rel=1e-9, abs=1e-9)
