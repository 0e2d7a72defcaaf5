"""Claims on the model at which algorithms end if clients do unequal numbers of local steps, or
arrive unequally often. On quadratic problems it has a closed form.

There is no noise. The last model of a run must be equal to the closed form to 8 digits, relative to
x*.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fedbench import registry
from fedbench.proof.theory.bed import Clients, Measured, Noisy, late, play, problem, start_of
from fedbench.proof.theory.exact import Step, moments, restarting
from fedbench.proof.theory.rows import Row, bound_by, claim, value
from fedbench.types import Vector

STEPS = [1, 2, 3, 6]  # K_i
RATE, EXACT, UPDATES = 0.1, 1e-8, 600
UNEQUAL = np.array([1.0, 2.03, 4.09, 8.21])  # seconds of a job; the fastest arrives eight times as often as the slowest
Matrices = npt.NDArray[np.float64]


def weighted_mean(B: Matrices, c: Vector) -> Vector:
    """Returns (sum B_i)^-1 sum B_i c_i."""
    return np.asarray(np.linalg.solve(B.sum(axis=0), np.einsum("ijk,ik->j", B, c)))


def reach(on: Noisy, rate: float, prox: float = 0.0) -> Matrices:
    """Returns B_i = [I - (I - rate (A_i + prox))^K_i] (A_i + prox)^-1 A_i. A local run from x moves
    by -B_i (x - c_i)."""
    eye = np.eye(on.dim)
    bent = [A + prox * eye for A in on.A]
    powers = [np.linalg.matrix_power(eye - rate * H, steps) for H, steps in zip(bent, STEPS, strict=True)]
    return np.array([(eye - power) @ np.linalg.solve(H, A) for power, H, A in zip(powers, bent, on.A, strict=True)])


def run(selector: str, on: Noisy, updates: int, clients: Clients) -> Measured:
    return play(registry.algorithm(selector), on, updates, clients, noise=False)


def end(selector: str, on: Noisy, updates: int = UPDATES) -> Vector:
    return run(selector, on, updates, Clients(steps=STEPS)).x


def four_clients(*, spread: float = 0.5) -> Noisy:
    """Returns a problem with one client for every number of steps. Their Hessians differ if
    `spread` > 0."""
    return problem(clients=len(STEPS), dim=3, spread=spread)


@claim(
    "objective-inconsistency",
    "Wu et al. 2021, Theorem 1; Wang et al. 2020 (FedNova), Theorem 1",
    "With unequal local steps FedAvg, FedProx and FedNova end at known points that are not the optimum.",
    quick=True,
)
def inconsistent() -> Iterator[Row]:
    """Measures that FedAvg, FedProx and FedNova do not end at x*, but at their closed forms."""
    on = four_clients()
    optimum = on.minimiser()
    scale = float(np.linalg.norm(optimum))
    B, K = reach(on, RATE), np.array(STEPS, float)[:, None, None]
    closed = {
        "fedavg[sampling=all,weights=p": weighted_mean(B, on.c),
        "fedprox[sampling=all,weights=p,prox=0.5": weighted_mean(reach(on, RATE, prox=0.5), on.c),
        "fednova[sampling=all": weighted_mean(B / K, on.c),
    }
    for selector, limit in closed.items():
        away = float(np.linalg.norm(end(f"{selector},local_lr={RATE}]", on) - limit)) / scale
        name = selector.partition("[")[0]
        yield value(f"{name}: distance to its closed form over |x*|", away, 0.0, EXACT)
        yield bound_by(
            f"{name}: its closed form is not x*, 0.001 |x*| away", 1e-3, float(np.linalg.norm(limit - optimum)) / scale
        )


@claim(
    "inconsistency-bias",
    "Wu et al. 2021, Theorem 1",
    "FedAvg's bias does not vanish with the rate, FedNova's does; FedAvg's error is below the theorem's.",
    quick=True,
)
def bias() -> Iterator[Row]:
    """Measures how the bias depends on the rate, and compares FedAvg's error at a small rate with
    that of the theorem."""
    on = four_clients()
    optimum, K = on.minimiser(), np.array(STEPS, float)

    def of(selector: str, rate: float) -> float:
        return float(np.linalg.norm(end(f"{selector},local_lr={rate}]", on, 2 * UPDATES) - optimum))

    for name, expected, allowed in (("fedavg[sampling=all,weights=p", 1.0, 0.05), ("fednova[sampling=all", 0.5, 0.05)):
        ratio = of(name, RATE / 4) / of(name, RATE / 2)
        yield value(f"{name.partition('[')[0]}: bias at half the rate, ratio", ratio, expected, allowed)
    losses = np.array([on.loss(i, optimum) for i in range(on.clients)])
    proven = float((on.weights * (K / K.min() - 1) * losses).sum())
    closed = on.loss_at(weighted_mean(on.A * K[:, None, None], on.c)) - on.loss_at(optimum)
    gap = on.loss_at(end(f"fedavg[sampling=all,weights=p,local_lr={RATE / 20}]", on, 5 * UPDATES)) - on.loss_at(optimum)
    yield bound_by("fedavg at a small rate: F - F* below sum p_i (K_i / K_min - 1) F_i(x*)", gap, proven)
    yield value("fedavg at a small rate: F - F* over that of the rate's limit 0", gap / closed, 1.0, 0.05)


@claim(
    "calibration-unbiased",
    "Wu et al. 2021, Theorem 3; Karimireddy et al. 2020; Mitra et al. 2021",
    "Fully calibrated, SCAFFOLD, FedaGrac and FedLin end at the optimum, however unequal the local steps.",
    quick=True,
)
def calibrated() -> Iterator[Row]:
    """Measures that algorithms with full calibration end at x*, however unequal the steps are."""
    on = four_clients()
    optimum = on.minimiser()
    fedagrac = [f"fedagrac[sampling=all,calibration_rate=1,variant={v}" for v in ("default", "avg", "first", "reverse")]
    for selector in ("scaffold[sampling=all", *fedagrac, "fedlin["):
        text = f"{selector},local_lr={RATE}]".replace("[,", "[")
        away = float(np.linalg.norm(end(text, on) - optimum) / np.linalg.norm(optimum))
        name = selector.partition("[")[0] + (f", {selector.rpartition('=')[2]}" if "variant" in selector else "")
        yield value(f"{name}: distance to x* over |x*|", away, 0.0, EXACT)


@claim(
    "calibration-rate",
    "Wu et al. 2021, equation (3)",
    "FedaGrac with calibration rate lambda keeps the part 1 - lambda of FedAvg's bias.",
    quick=True,
)
def partly_calibrated() -> Iterator[Row]:
    """Measures which part of the bias stays with calibration rate lambda. For one Hessian and a
    small rate the end is x = (1 - lambda) c_K + lambda cbar with c_K = sum p_i K_i c_i / Kbar, so
    the part is 1 - lambda."""
    on, rate = four_clients(spread=0.0), RATE / 10
    K = np.array(STEPS, float)
    skewed, middle = K @ on.c / K.sum(), on.c.mean(axis=0)
    for lam in (0.3, 0.6):
        x = end(f"fedagrac[sampling=all,calibration_rate={lam},local_lr={rate}]", on, 2 * UPDATES)
        kept = float((x - middle) @ (skewed - middle) / ((skewed - middle) @ (skewed - middle)))
        yield value(f"lambda = {lam}: part of FedAvg's bias that stays", kept, 1 - lam, 0.02)


@claim(
    "arrival-shares",
    "Wang et al. 2024 (DeFedAvg), section 2",
    "FedBuff ends nearer to those who arrive more often; DeFedAvg-nIID counts all alike.",
    quick=True,
)
def arrival_shares() -> Iterator[Row]:
    """Measures that clients that arrive more often pull FedBuff towards their optima, and that
    DeFedAvg-nIID draws all clients alike."""
    on = four_clients(spread=0.0)
    clients, updates, rate = Clients(steps=1, seconds=UNEQUAL), 5000, 0.005
    optimum = on.minimiser()
    outcome = run(f"fedbuff[buffer_size=1,restart=self,local_lr={rate}]", on, updates, clients)
    share = outcome.arrivals / updates
    expected = (1 / UNEQUAL) / (1 / UNEQUAL).sum()
    yield value("FedBuff: largest distance of arrival shares from 1 / seconds", float(np.abs(share - expected).max()), 0.0, 0.001)
    limit = weighted_mean(on.A * expected[:, None, None], on.c)
    far = float(np.linalg.norm(limit - optimum))
    yield value(
        "FedBuff: distance to the limit by shares, of its bias", float(np.linalg.norm(outcome.x - limit)) / far, 0.0, 0.05
    )
    known = moments(on, restarting(UNEQUAL, 1, updates), start_of(on), Step(rate, 1))
    off = abs(outcome.distances[-1] / float((known.mean[-1] ** 2).sum()) - 1)
    yield value("FedBuff: |x - x*|^2 of the last update over its exact value", off, 0.0, 1e-6)
    drawn = run(f"defedavg_niid[cohort_size=16,local_lr={rate},server_lr=1]", on, updates, clients)
    away = float(np.sqrt(late(drawn.distances))) / far
    yield bound_by("DeFedAvg-nIID: distance to x* over FedBuff's bias", away, 0.25)


@claim(
    "everybody-remembered",
    "Chang et al. 2025; Iakovidou and Kim 2024; Jhunjhunwala et al. 2022; Rodio and Neglia 2024",
    "ACE, ACED, AREA, FedVARP and FedStale with weight 1 end where rounds of all clients do, whoever arrives how often.",
    quick=True,
)
def everybody_remembered() -> Iterator[Row]:
    """Measures that algorithms whose updates have the newest result of every client end where
    rounds of all clients end, however often each arrives."""
    on, clients = four_clients(), Clients(steps=STEPS, seconds=UNEQUAL)
    limit = weighted_mean(reach(on, RATE), on.c)
    scale = float(np.linalg.norm(limit))

    def away(selector: str) -> float:
        return float(np.linalg.norm(run(f"{selector}local_lr={RATE}]", on, 5 * UPDATES, clients).x - limit)) / scale

    for selector in (
        "ace[",
        "aced[delay_threshold=100,",
        "area[",
        "fedvarp[cohort_size=2,",
        "fedstale[cohort_size=2,stale_weight=1,weights=uniform,",
    ):
        name = selector.partition("[")[0]
        yield value(f"{name}: distance to the end of all clients, relative to its size", away(selector), 0.0, EXACT)
    yield bound_by("FedBuff: 0.1 is less than its distance", 0.1, away("fedbuff[buffer_size=1,restart=self,"))
    yield bound_by("FedAvg of two clients: 0.01 is less than its distance", 0.01, away("fedavg[cohort_size=2,"))
