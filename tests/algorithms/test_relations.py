"""Relations between algorithms, and what holds for many of them. A new algorithm adds its rows to
the tables; no test needs a change.

All on random quadratics with unequal weights p and unequal numbers of local steps unless a row says
otherwise.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from fedbench import registry
from fedbench.proof.problems import Quadratic
from fedbench.types import Info
from tests.algorithms.by_hand import Array, Trace, arrivals, many_clients, quadratic, run, serve

CLIENTS, DIM = 6, 4
STEPS = (1, 2, 4, 3, 1, 2)
SPEEDS = (1.0, 2.5, 1.5, 4.0, 3.0, 2.0)


@dataclass(frozen=True)
class Relation:
    """`left` and `right` make the same models: bit for bit, or to rounding where not `exact`. `on`:
    arguments of by_hand.run."""

    left: str
    right: str
    exact: bool = True
    uniform: bool = False  # p_i = 1/N
    updates: int = 10
    on: dict[str, Any] = field(default_factory=dict)

    def traces(self, dtype: Any, **changes: Any) -> tuple[Trace, Trace]:
        problem = problem_of(dtype, uniform=self.uniform)
        on: dict[str, Any] = {"steps": STEPS, "x0": np.linspace(-1, 2, DIM).astype(dtype)} | self.on | changes
        left, right = (run(registry.algorithm(selector), problem, self.updates, **on) for selector in (self.left, self.right))
        return left, right

    def __str__(self) -> str:
        return f"{self.left} = {self.right}" + (f" on {self.on}" if self.on else "")


def problem_of(dtype: Any = np.float64, *, uniform: bool = False) -> Quadratic:
    problem = many_clients(CLIENTS, DIM, seed=0, dtype=dtype)
    return quadratic(problem.A, problem.c, np.ones(CLIENTS), dtype) if uniform else problem


ONE_STEP, EQUAL_STEPS, EQUAL_SPEEDS = {"steps": 1}, {"steps": 3}, {"seconds": (2.0,), "upload": 0.25}

RELATIONS = [
    # synchronous
    Relation("fedprox[prox=0,cohort_size=3]", "fedavg[cohort_size=3]"),
    Relation("fedprox[prox=0,sampling=weighted,cohort_size=4]", "fedavg[sampling=weighted,cohort_size=4]"),
    Relation("fedprox[prox=0,sampling=all,weights=p,server_lr=0.5]", "fedavg[sampling=all,weights=p,server_lr=0.5]"),
    Relation("fedprox[prox=2,sampling=all]", "fedavg[sampling=all]", on=ONE_STEP),
    Relation("fednova[sampling=all]", "fedavg[sampling=all]", exact=False, on=EQUAL_STEPS),
    Relation(
        "fednova[cohort_size=3,weights=p_normalised]", "fedavg[cohort_size=3,weights=p_normalised]", exact=False, on=EQUAL_STEPS
    ),
    Relation("fednova[sampling=all,prox=2,weights=p]", "fedprox[sampling=all,prox=2,weights=p]", exact=False, on=EQUAL_STEPS),
    Relation("fednova[sampling=all,momentum=0.5]", "fedavg[sampling=all,momentum=0.5]", exact=False, on=EQUAL_STEPS),
    Relation("fedagrac[sampling=all,calibration_rate=0]", "fedavg[sampling=all,weights=p]"),
    Relation(
        "fedagrac[sampling=all,calibration_rate=0,variant=first,server_lr=0.5]", "fedavg[sampling=all,weights=p,server_lr=0.5]"
    ),
    Relation("fedagrac[calibration_rate=0,sampling=without_replacement,cohort_size=3]", "fedavg[cohort_size=3]"),
    Relation(
        "fedagrac[sampling=all,calibration_rate=1,variant=avg,init_reference=zero]",
        "scaffold[sampling=all]",
        exact=False,
        uniform=True,
    ),
    Relation(
        "fedagrac[sampling=all,calibration_rate=1,variant=avg]",
        "scaffold[sampling=all,init_control=grad]",
        exact=False,
        uniform=True,
    ),
    Relation(
        "fedagrac[sampling=all,calibration_rate=1,variant=avg]", "scaffold[sampling=all,init_control=grad,weights=p]", exact=False
    ),
    Relation(
        "fedagrac[sampling=all,calibration_rate=0.7]", "fedagrac[sampling=all,calibration_rate=0.7,variant=avg]", on=EQUAL_STEPS
    ),
    Relation(
        "fedagrac[sampling=all,calibration_rate=0.7]", "fedagrac[sampling=all,calibration_rate=0.7,variant=avg]", on=ONE_STEP
    ),
    Relation(
        "fedagrac[sampling=all,calibration_rate=0.7]", "fedagrac[sampling=all,calibration_rate=0.7,variant=first]", on=ONE_STEP
    ),
    Relation(
        "fedagrac[sampling=all,calibration_rate=0.7]", "fedagrac[sampling=all,calibration_rate=0.7,variant=reverse]", on=ONE_STEP
    ),
    Relation("fedlin[local_lr=0.05]", "fedavg[sampling=all,weights=p]", exact=False, on=ONE_STEP),
    Relation("fedsgd", "fedavg[sampling=all,weights=p]", on=ONE_STEP),
    Relation("fedsgd[weights=uniform,server_lr=0.5]", "fedavg[sampling=all,server_lr=0.5]", on=ONE_STEP),
    Relation("fedadam[beta1=0,eps=1e9,server_lr=5e8,cohort_size=3]", "fedavg[server_lr=0.5,cohort_size=3]", exact=False),
    Relation("fedavgm[server_momentum=0,cohort_size=3,server_lr=0.5]", "fedavg[cohort_size=3,server_lr=0.5]"),
    Relation("fedavgm[server_momentum=0,nesterov=true,cohort_size=3,server_lr=0.5]", "fedavg[cohort_size=3,server_lr=0.5]"),
    Relation("fedavgm[server_momentum=0,weights=examples,sampling=all]", "fedavg[weights=examples,sampling=all]"),
    Relation("fedexp[cohort_size=1,eps=1e-9]", "fedavg[cohort_size=1]"),
    Relation("fedexp[sampling=weighted,cohort_size=4,eps=1e9]", "fedavg[sampling=weighted,cohort_size=4]"),
    Relation("fedexp[weights=examples,sampling=all,eps=1e9]", "fedavg[weights=examples,sampling=all]"),
    Relation("fedyogi[beta1=0,eps=1e9,server_lr=1e9,cohort_size=3]", "fedavg[server_lr=0.5,cohort_size=3]", exact=False),
    Relation("fedadagrad[eps=1e9,server_lr=1e9,cohort_size=3]", "fedavg[server_lr=0.5,cohort_size=3]", exact=False),
    Relation("fedyogi[init_moment=zero,cohort_size=3]", "fedadam[cohort_size=3]", exact=False, updates=1),
    Relation(
        "fedyogi[beta1=0.5,beta2=0,init_moment=zero,sampling=all]",
        "fedadagrad[beta1=0.5,init_moment=zero,sampling=all]",
        updates=1,
    ),
    # asynchronous
    Relation("fedbuff[buffer_size=6]", "fedavg[sampling=all]", on=EQUAL_SPEEDS),
    Relation("fedbuff[buffer_size=6,restart=self,scaling=sqrt]", "fedavg[sampling=all]", on=EQUAL_SPEEDS),
    Relation("defedavg_iid[cohort_size=6,server_lr=1]", "fedavg[sampling=all]", on=EQUAL_SPEEDS),
    Relation(
        "defedavg_iid[cohort_size=3,receive=peek,server_lr=1]", "fedbuff[buffer_size=3,restart=self]", on={"seconds": SPEEDS}
    ),
    Relation(
        "fedbuff[buffer_size=1,concurrency=1,server_lr=0.6]",
        "fedasync[mixing=0.6,staleness=constant,prox=0,concurrency=1]",
        exact=False,  # x + al (y - x) against (1 - al) x + al y
    ),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_relation(relation: Relation, dtype: Any) -> None:
    left, right = relation.traces(dtype)
    if relation.exact:
        assert [x.tobytes() for x in left.x] == [x.tobytes() for x in right.x]
    else:
        assert away(left, right) < (2e-6 if dtype == np.float32 else 1e-8)
    assert left.seconds == right.seconds
    assert left.x[0].dtype == dtype
    assert not np.array_equal(left.x[-1], left.x[0])


def away(left: Trace, right: Trace) -> float:
    """The largest distance of two runs, relative to the largest model."""
    return float(np.abs(np.stack(left.x) - np.stack(right.x)).max() / np.abs(np.stack(right.x)).max())


@pytest.mark.parametrize(
    ("left", "right", "without"),
    [
        ("fedprox[prox=2,sampling=all]", "fedavg[sampling=all]", {}),
        ("fednova[sampling=all]", "fedavg[sampling=all]", {}),
        ("fedagrac[sampling=all,calibration_rate=0.7]", "fedagrac[sampling=all,calibration_rate=0.7,variant=avg]", {}),
        ("fedagrac[sampling=all,calibration_rate=0.7,variant=first]", "fedagrac[sampling=all,calibration_rate=0.7]", EQUAL_STEPS),
        ("fedagrac[sampling=all,calibration_rate=1,variant=avg]", "scaffold[sampling=all,init_control=grad]", {}),
        ("fedlin[local_lr=0.05]", "fedavg[sampling=all,weights=p]", EQUAL_STEPS),
        ("fedavgm[sampling=all,server_momentum=0.5]", "fedavg[sampling=all]", {}),
        ("fedexp[sampling=all,eps=1e-9]", "fedavg[sampling=all]", {}),
        ("fedyogi[init_moment=zero,cohort_size=3]", "fedadam[cohort_size=3]", {}),
        ("fedyogi[beta2=0,init_moment=zero,sampling=all]", "fedadagrad[beta1=0.9,init_moment=zero,sampling=all]", {}),
        ("fedbuff[buffer_size=6]", "fedavg[sampling=all]", {"seconds": SPEEDS}),
        (
            "defedavg_iid[cohort_size=3,receive=peek]",
            "fedbuff[buffer_size=3,restart=self]",
            {"seconds": SPEEDS, "download": 0.25},
        ),
    ],
)
def test_a_relation_needs_its_condition(left: str, right: str, without: dict[str, Any]) -> None:
    """Equal steps, one step, uniform weights, equal durations, no download: without it the models
    differ, so the test above can fail. The second moments part at the second update."""
    assert away(*Relation(left, right).traces(np.float64, **without)) > 1e-4


# ---- I2: shifting x0 and all F_i shifts every iterate
# --------------------------------------------------------------------------

TRANSLATED = [
    "fedavg[cohort_size=3]",
    "fedprox[cohort_size=3,prox_form=l1_squared]",
    "fednova[momentum=0.5,cohort_size=3]",
    "scaffold[cohort_size=3,init_control=grad,option=1]",
    "fedagrac[sampling=all,calibration_rate=1]",
    "fedlin",
    "feddyn[cohort_size=3]",
    "fedsgd",
    "fedadam[amsgrad=true,cohort_size=3]",
    "fedavgm[cohort_size=3,nesterov=true]",
    "fedexp[cohort_size=3,eps=1e-9]",
    "fedyogi[cohort_size=3]",
    "fedadagrad[cohort_size=3]",
    "fedbuff[buffer_size=3]",
    "fedasync",
    "defedavg_iid[cohort_size=3]",
    "fedac[server_lr=0.1,buffer_size=3]",
]


@pytest.mark.parametrize("selector", TRANSLATED)
def test_translation(selector: str) -> None:
    problem, x0, shift = problem_of(), np.linspace(-1, 2, DIM), np.array([3.0, -1.0, 0.5, 7.0])
    moved = quadratic(problem.A, problem.c + shift, problem.examples)
    here, there = (
        np.stack(run(registry.algorithm(selector), where, 10, seconds=SPEEDS, steps=STEPS, x0=start).x)
        for where, start in ((problem, x0), (moved, x0 + shift))
    )
    assert there - shift == pytest.approx(here, abs=1e-9)


# ---- I3: one client, no staleness: plain SGD, K steps an update
# ------------------------------------------------------------------

SEQUENTIAL = [
    "centralised",
    "fedavg[sampling=all]",
    "fedprox[sampling=all,prox=0]",
    "fednova[sampling=all]",
    "scaffold[sampling=all]",
    "scaffold[sampling=all,init_control=grad]",
    "fedagrac[sampling=all,calibration_rate=1]",
    "fedagrac[sampling=all,calibration_rate=1,variant=avg]",
    "fedavgm[sampling=all,server_momentum=0]",
    "fedexp[sampling=all]",
    "fedyogi[sampling=all,beta1=0,eps=1e9,server_lr=2e9]",
    "fedadagrad[sampling=all,eps=1e9,server_lr=2e9]",
    "fedbuff[buffer_size=1]",
    "defedavg_iid[cohort_size=1,server_lr=1]",
]


@pytest.mark.parametrize("selector", SEQUENTIAL)
def test_one_client_is_plain_sgd(selector: str) -> None:
    problem, x = many_clients(1, DIM, seed=5), np.linspace(-1, 2, DIM)
    for got in run(registry.algorithm(selector), problem, 10, steps=3, x0=x).x[1:]:
        for _ in range(3):
            x = x - 0.05 * problem.gradient(0, x)
        assert got == pytest.approx(x, rel=1e-13)


# ---- I4: identical clients, exact gradients, equal steps: nothing is corrected
# ---------------------------------------------------

CORRECTED = {  # the common term; the clients' own are their memory
    "scaffold[sampling=all]": "c",
    "scaffold[sampling=all,weights=p,init_control=grad]": "c",
    "fedagrac[sampling=all,calibration_rate=1]": "nu",
    "fedagrac[sampling=all,calibration_rate=1,variant=avg,init_reference=zero]": "nu",
    "fedac[buffer_size=6,server_lr=0.1]": "C",
}


@pytest.mark.parametrize("selector", CORRECTED)
def test_identical_clients_are_not_corrected(selector: str) -> None:
    def corrections(steps: Any) -> Array:
        state = run(registry.algorithm(selector), alike, 4, steps=steps, x0=np.linspace(-1, 2, DIM)).state
        assert state is not None
        return getattr(state, CORRECTED[selector]) - state.memory.dense()

    one = many_clients(1, DIM, seed=6)
    alike = quadratic([one.A[0]] * CLIENTS, [one.c[0]] * CLIENTS, np.arange(1, 1 + CLIENTS))
    assert np.abs(corrections(3)).max() < 1e-13
    assert np.abs(corrections(STEPS)).max() > 1e-3


# ---- exact methods end at x* on quadratics, for any numbers of local steps
# --------------------------------------------------------

EXACT = {  # whose weights they have
    "scaffold[sampling=all,local_lr=0.2]": "uniform",
    "scaffold[sampling=all,local_lr=0.2,weights=p]": "p",
    "fedlin[local_lr=0.5]": "p",
    "feddyn[sampling=all,local_lr=0.2,regularization=1]": "uniform",
    "fedagrac[sampling=all,calibration_rate=1,local_lr=0.2]": "p",
    "fedagrac[sampling=all,calibration_rate=1,local_lr=0.2,variant=avg]": "p",
    "fedagrac[sampling=all,calibration_rate=1,local_lr=0.2,variant=first]": "p",
    "fedagrac[sampling=all,calibration_rate=1,local_lr=0.2,variant=reverse]": "p",
}


@pytest.mark.parametrize("selector", EXACT)
def test_the_fixed_point_is_the_minimiser(selector: str) -> None:
    problem = problem_of(uniform=EXACT[selector] == "uniform")
    assert distance(selector, problem) < 1e-7


def test_fedavg_and_fednova_end_elsewhere() -> None:
    """Their fixed points in closed form are in their own tests."""
    assert distance("fedavg[sampling=all,weights=p,local_lr=0.2]", problem_of()) > 1e-2
    assert distance("fednova[sampling=all,local_lr=0.2]", problem_of()) > 1e-3


@pytest.mark.parametrize(
    "selector",
    [
        *(f"fedavg[weights={name}]" for name in ("uniform", "examples", "p", "p_normalised", "unbiased")),
        "scaffold[weights=uniform]",
        "scaffold[weights=p]",
        "fedagrac",
        "fedavgm[weights=uniform]",
        "fedavgm[weights=examples]",
        "fedexp[weights=uniform,eps=9]",
        "fedexp[weights=examples,eps=9]",
        "fedbuff[scaling=sqrt]",
    ],
)
def test_buffers_of_a_model_have_the_weights_of_the_step(selector: str) -> None:
    """From x = 0, three clients send the columns of the unit matrix: x is then the weights."""
    p, stale = np.array([0.5, 0.125, 0.375]), [0, 1, 2]
    algorithm = registry.algorithm(selector)
    state, _ = serve(algorithm, clients=3, x0=np.zeros(3))
    sent = {name: np.eye(3) for name in ("delta", "dc", "gbar", "gfirst")}
    batch = dataclasses.replace(arrivals([2, 0, 1], version=2, base=stale, **sent), n=8 * p[[2, 0, 1]], p=p[[2, 0, 1]])
    info = Info(3, 8 * p)
    algorithm.step(state, batch, cast(Any, SimpleNamespace(info=info)))
    assert state.x.tolist() == algorithm.entry_weights(batch, info).tolist()
    assert len(set(state.x.tolist())) == (1 if "uniform" in selector else 3)


def distance(selector: str, problem: Quadratic) -> float:
    x = run(registry.algorithm(selector), problem, 100, steps=STEPS, x0=np.linspace(-1, 2, DIM)).x[-1]
    return float(np.abs(x - problem.minimiser()).max())
