"""Where algorithms end when clients do unequal numbers of local steps, or arrive unequally often: closed forms of quadratic problems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import registry
from fedbench.proof.theory.bed import Clients, Noisy, play, problem
from fedbench.proof.theory.rows import Row, bound, near
from fedbench.types import Vector

STEPS = [1, 2, 3, 6]  # K_i
RATE, EXACT = 0.1, 1e-8
INCONSISTENT, UNBIASED, LAW = "[001] Theorem 1", "[001] Theorem 3", "conservation of arrivals"
Matrices = npt.NDArray[np.float64]


def weighted_mean(B: Matrices, c: Matrices) -> Vector:
    """(sum B_i)^-1 sum B_i c_i."""
    return np.asarray(np.linalg.solve(B.sum(axis=0), np.einsum("ijk,ik->j", B, c)))


def reach(on: Noisy, rate: float, prox: float = 0.0) -> Matrices:
    """B_i = [I - (I - rate (A_i + prox))^K_i] (A_i + prox)^-1 A_i: a local run from x moves by -B_i (x - c_i)."""
    eye = np.eye(on.dim)
    bent = [A + prox * eye for A in on.A]
    powers = [np.linalg.matrix_power(eye - rate * H, steps) for H, steps in zip(bent, STEPS, strict=True)]
    return np.array([(eye - power) @ np.linalg.solve(H, A) for power, H, A in zip(powers, bent, on.A, strict=True)])


def end(selector: str, on: Noisy, updates: int) -> Vector:
    return play(registry.algorithm(selector), on, updates, Clients(steps=STEPS), noise=False).x


def four_clients(*, spread: float = 0.5) -> Noisy:
    """One client for every number of steps; with `spread` > 0 their Hessians differ."""
    return problem(clients=len(STEPS), dim=3, spread=spread)


def unequal_steps(updates: int) -> Iterator[Row]:
    """FedAvg, FedProx and FedNova end beside x*, at their closed forms; with full calibration the others end at x*."""
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
        away = float(np.linalg.norm(end(f"{selector},local_lr={RATE}]", on, updates) - limit)) / scale
        name = selector.partition("[")[0]
        yield near(f"{name}: distance to its closed form, |x*|", INCONSISTENT, away, 0.0, EXACT)
        yield _is_biased(name, float(np.linalg.norm(limit - optimum)) / scale)
    calibrated = [
        "scaffold[sampling=all",
        *(f"fedagrac[calibration_rate=1,variant={v}" for v in ("default", "avg", "first", "reverse")),
    ]
    for selector in calibrated:
        away = float(np.linalg.norm(end(f"{selector},local_lr={RATE}]", on, updates) - optimum)) / scale
        yield near(
            f"{selector.replace('[', ' ').replace('calibration_rate', 'lambda')}: distance to x*", UNBIASED, away, 0.0, EXACT
        )
    away = float(np.linalg.norm(end(f"fedlin[local_lr={RATE}]", on, updates) - optimum)) / scale
    yield near("fedlin: distance to x*", "Mitra et al. 2021", away, 0.0, EXACT)


def _is_biased(name: str, bias: float) -> Row:
    """The closed form would prove little if it were x*."""
    return bound(f"{name}: its closed form is not x*, |x*|", INCONSISTENT, 1e-3, bias)


def inconsistency(updates: int) -> Iterator[Row]:
    """How the bias depends on the rate, and how much of it FedaGrac's lambda removes."""
    on = four_clients()
    optimum = on.minimiser()

    def bias(selector: str, rate: float) -> float:
        return float(np.linalg.norm(end(f"{selector},local_lr={rate}]", on, updates) - optimum))

    for name, expected, allowed in (("fedavg[sampling=all,weights=p", 1.0, 0.15), ("fednova[sampling=all", 0.5, 0.05)):
        ratio = bias(name, RATE / 4) / bias(name, RATE / 2)
        yield near(f"{name.partition('[')[0]}: bias at half the rate, ratio", INCONSISTENT, ratio, expected, allowed)
    K = np.array(STEPS, float)
    with_small_rate = weighted_mean(on.A * K[:, None, None], on.c)
    losses = np.array([on.loss(i, optimum) for i in range(on.clients)])
    limit = float((on.weights * (K / K.min() - 1) * losses).sum())
    gap = on.loss_at(with_small_rate) - on.loss_at(optimum)
    yield bound("F(FedAvg's limit) - F*, rate to 0", INCONSISTENT, gap, limit)
    yield _residual(updates)


def _residual(updates: int) -> Row:
    """Common Hessian, rate to 0: x = (1 - lambda) c_K + lambda cbar, c_K = sum p_i K_i c_i / Kbar; the part (1 - lambda) stays."""
    on, lam, rate = four_clients(spread=0.0), 0.3, RATE / 10
    K = np.array(STEPS, float)
    skewed, middle = K @ on.c / K.sum(), on.c.mean(axis=0)
    x = end(f"fedagrac[calibration_rate={lam},local_lr={rate}]", on, 2 * updates)
    kept = float((x - middle) @ (skewed - middle) / ((skewed - middle) @ (skewed - middle)))
    return near(f"fedagrac, lambda = {lam}: part of FedAvg's bias that stays", "[001] section 4", kept, 1 - lam, 0.03, "law")


def unequal_arrivals(updates: int) -> Iterator[Row]:
    """Who arrives more often pulls FedBuff to its side; DeFedAvg-nIID draws clients alike."""
    on = four_clients()
    clients = Clients(steps=1, seconds=np.array([1.0, 2.0, 4.0, 8.0]))
    optimum = on.minimiser()
    for selector, biased in (("fedbuff[buffer_size=1,restart=self", True), ("defedavg_niid[cohort_size=4", False)):
        outcome = play(registry.algorithm(f"{selector},local_lr=0.005]"), on, 4 * updates, clients, noise=False)
        share = outcome.measured.arrivals / outcome.measured.arrivals.sum()
        limit = weighted_mean(on.A * share[:, None, None], on.c)
        far = float(np.linalg.norm(limit - optimum))
        name = selector.partition("[")[0]
        if biased:
            error = float(np.linalg.norm(outcome.x - limit)) / far
            yield near(f"{name}: distance to the limit by arrival shares, of its bias", LAW, error, 0.0, 0.1, "law")
        else:
            yield near(f"{name}: largest arrival share", "[000] section 2.3", float(share.max()), 1 / on.clients, 0.02, "law")


def staleness_law(updates: int) -> Iterator[Row]:
    """Mean staleness of a buffered engine is (M_c - 1) / M whatever the speeds; M_c / M if replacements start before the update."""
    on = problem()
    slow = np.random.default_rng(1).lognormal(0.0, 1.0, on.clients)
    for concurrency, M, before in ((10, 1, False), (10, 5, False), (25, 5, False), (25, 5, True)):
        options: dict[str, Any] = {"concurrency": concurrency, "buffer_size": M, "dispatch_before_update": before}
        algorithm = registry.find("algorithm", "fedbuff").make(options)
        chunk = Clients(seconds=slow).scheduler(algorithm, on, updates, seed=0).next()
        skip = 10 * concurrency
        staleness = (chunk.consumed_by[chunk.entries] - chunk.base[chunk.entries])[skip:]
        expected = (concurrency - (0 if before else 1)) / M
        when = ", replaced before the update" if before else ""
        yield near(
            f"mean staleness, M_c = {concurrency}, M = {M}{when}",
            LAW,
            float(staleness.mean()),
            expected,
            0.05 * expected,
            "law",
        )


def selected_alike(updates: int, n: int = 10) -> Row:
    """Selections are multinomial(n, 1/N): chi-square over its degrees of freedom, which is 1 on average."""
    on = problem()
    algorithm = registry.algorithm(f"defedavg_niid[cohort_size={n}]")
    slow = np.random.default_rng(2).lognormal(0.0, 1.0, on.clients)
    chunk = Clients(seconds=slow).scheduler(algorithm, on, updates, seed=0).next()
    counts = np.bincount(chunk.client[chunk.entries], minlength=on.clients)
    expected = counts.sum() / on.clients
    chi2 = float(((counts - expected) ** 2 / expected).sum() / (on.clients - 1))
    return near(f"selections of DeFedAvg-nIID, chi2 / {on.clients - 1}", "[000] section 2.3", chi2, 1.0, 0.9, "law")


def all_rows(updates: int) -> Iterator[Row]:
    yield from unequal_steps(updates)
    yield from inconsistency(updates)
    yield from unequal_arrivals(updates)
    yield from staleness_law(updates)
    yield selected_alike(updates)
