"""`fedbench theory`: the formulas against their printed forms, the statistics by hand, and the checks themselves."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from fedbench import registry
from fedbench.cli.theory import line
from fedbench.proof.theory import bounds, limits, orders, picture, rates, table
from fedbench.proof.theory.bed import EXAMPLES, Clients, largest_staleness, play, problem, start_of, with_public_data
from fedbench.proof.theory.bounds import Setting
from fedbench.proof.theory.rows import Row, bound, near, slope

S = Setting(A0=3.0, L=2.0, sigma2=1.5, K=5, n=8, T=4000, lam=2, G2=10.0, nu2=1.0, gamma2=0.5, clients=40)


def test_the_prescribed_rates_give_the_closed_form_of_defedavg_iid() -> None:
    """[000] (14), corrected: sqrt(128 sigma^2 L A0 / (n K T)) + 8 L / (K T)."""
    el, eg = bounds.defedavg_iid_rates(S)
    closed = math.sqrt(128 * S.sigma2 * S.L * S.A0 / (S.n * S.K * S.T)) + 8 * S.L / (S.K * S.T)
    assert bounds.defedavg_iid(S, el, eg) == pytest.approx(closed, rel=1e-12)


def test_the_prescribed_rates_give_the_closed_form_of_defedavg_niid() -> None:
    """[000] Theorem 1 at eg = sqrt(4 n K A0), el = 1 / (K sqrt(S T)): 10 sqrt(A0 S / (n K T)) + 8 L^2 (sigma^2 + 8 K nu^2) / (S K T)."""
    big_s = 4 * S.sigma2 * S.L + 2 * S.L * S.K * S.G2
    el, eg = 1 / (S.K * math.sqrt(big_s * S.T)), math.sqrt(4 * S.n * S.K * S.A0)
    closed = 10 * math.sqrt(S.A0 * big_s / (S.n * S.K * S.T)) + 8 * S.L**2 * (S.sigma2 + 8 * S.K * S.nu2) / (big_s * S.K * S.T)
    assert bounds.defedavg_niid(S, el, eg) == pytest.approx(closed, rel=1e-12)


def test_conditions_of_the_theorems() -> None:
    el, eg = bounds.defedavg_niid_rates(S)
    assert el == 1 / (8 * S.L * S.K)
    assert eg * el <= 1 / (4 * S.L * S.K * S.lam)
    assert bounds.defedavg_iid_allows(S, 0.01, 1.0)
    assert not bounds.defedavg_iid_allows(S, 0.1, 0.1)
    assert not bounds.defedavg_iid_allows(S, 0.01, 10.0)
    assert bounds.fedbuff_allows(S, 1e-4)
    assert not bounds.fedbuff_allows(S, 0.02)


def test_the_printed_bound_of_fedbuff_is_not_smaller() -> None:
    """[002] Theorem 1 at eta = 1 / (Q sqrt(L T)) and an admissible T; the general form without 1 / (1 - a) is below the printed one."""
    T = int(160 * S.L * (S.K + 7) * (S.lam + 1) ** 3) + 1
    s = Setting(A0=3.0, L=2.0, sigma2=1.5, K=5, n=8, T=T, lam=2, gamma2=0.5, clients=40)
    el = 1 / (s.K * math.sqrt(s.L * T))
    printed = (
        8 * math.sqrt(s.L) * s.A0 / math.sqrt(T)
        + 16 * math.sqrt(s.L) * (s.sigma2 + s.gamma2) / math.sqrt(T)
        + 320 * s.L * (s.K + 1) * (s.lam**2 + 1) * (s.sigma2 + s.clients * s.gamma2) / T
    )
    assert bounds.fedbuff_allows(s, el)
    assert 0 < bounds.fedbuff(s, el) < printed


def test_the_noise_is_what_the_theorems_assume() -> None:
    on = problem(sigma=0.7)
    assert on.noise.mean(axis=0) == pytest.approx(np.zeros(on.dim), abs=1e-15)
    assert (on.noise**2).sum(axis=1).mean() == pytest.approx(0.49, rel=1e-12)
    x = np.ones(on.dim)
    pure = on.gradient(3, x)
    assert on.gradient(3, x, np.array([7])) - pure == pytest.approx(on.noise[7], abs=1e-12)
    assert on.gradient(3, x, np.arange(EXAMPLES)) == pytest.approx(pure, abs=1e-12)
    assert on.largest >= float(pure @ pure)
    assert float(np.linalg.norm(on.global_gradient(on.minimiser()))) < 1e-12


def test_what_is_measured_of_a_run() -> None:
    """One client, exact gradients and one step a round: x^t - x* = (I - rate A)^t (x^0 - x*)."""
    on, T = problem(clients=1), 6
    outcome = play(registry.algorithm("fedavg[sampling=all,local_lr=0.3]"), on, T, Clients(), noise=False)
    a, away = np.diag(on.A[0]), start_of(on) - on.minimiser()
    path = [(1 - 0.3 * a) ** t * away for t in range(T + 1)]
    assert outcome.x == pytest.approx(on.minimiser() + path[-1], rel=1e-12)
    assert outcome.measured.mean_square_gradient == pytest.approx(np.mean([((a * x) ** 2).sum() for x in path[:-1]]), rel=1e-12)
    assert outcome.measured.late_gap == pytest.approx(np.mean([0.5 * (a * x * x).sum() for x in path[3:-1]]), rel=1e-12)
    assert outcome.measured.gaps[0] == pytest.approx(on.loss_at(start_of(on)) - on.loss_at(on.minimiser()), rel=1e-12)


def test_public_logits_are_linear_in_the_model() -> None:
    on = with_public_data(problem(), rows=4, classes=3)
    x, dlogits = np.arange(1.0, 11.0), np.arange(12.0).reshape(4, 3)
    assert on.logits(x, on.public)[2, 1] == pytest.approx(on.public[2, 10:20] @ x)
    assert on.pullback(on.public, dlogits) @ x == pytest.approx((dlogits * on.logits(x, on.public)).sum())


def test_staleness_is_known_from_the_plan() -> None:
    clients = rates.speeds(problem(), 1.5)
    assert largest_staleness(registry.algorithm("fedavg[cohort_size=4]"), problem(), 20, clients, 2) == 0
    assert largest_staleness(registry.algorithm("fedbuff[buffer_size=4]"), problem(), 50, clients, 2) > 5


def test_rows_by_hand() -> None:
    assert bound("b", "s", 1.0, 2.0).holds
    assert not bound("b", "s", 3.0, 2.0).holds
    assert not bound("b", "s", 1.0, 2.0, conditions=False).holds
    assert near("n", "s", 0.9, 1.0, 0.2).holds
    assert not near("n", "s", 0.7, 1.0, 0.2).holds
    x = [1.0, 2.0, 4.0]
    exact = slope("s", "s", x, np.array([[1 / v for v in x], [2 / v for v in x]]), -1.0, 0.1)
    assert (exact.measured, exact.low, exact.high) == pytest.approx((-1.0, -1.0, -1.0))
    assert exact.holds
    wrong = slope("s", "s", x, np.array([[1 / v for v in x], [1.01 / v for v in x]]), -0.5, 0.1)
    assert not wrong.holds
    assert exact.points == ((1.0, 1.5), (2.0, 0.75), (4.0, 0.375))


def test_laws_of_the_engine_hold() -> None:
    rows = [*limits.staleness_law(2000), limits.selected_alike(2000)]
    assert [row.check for row in rows if not row.holds] == []


def test_limits_in_closed_form_hold() -> None:
    rows = list(limits.unequal_steps(600))
    assert [row.check for row in rows if not row.holds] == []
    assert len(rows) == 12


def test_a_wrong_limit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """FedAvg whose clients do one step more than the closed form says."""
    monkeypatch.setattr(limits, "STEPS", [2, 3, 4, 7])
    B = limits.reach(limits.four_clients(), limits.RATE)
    monkeypatch.undo()
    on = limits.four_clients()
    x = limits.end(f"fedavg[sampling=all,weights=p,local_lr={limits.RATE}]", on, 600)
    assert float(np.linalg.norm(x - limits.weighted_mean(B, on.c))) > 1e-3


def test_the_picture(tmp_path: Path) -> None:
    slopes = Row("gradient against n", "s", "slope", -0.5, -0.5, True, 0.1, -0.6, -0.4, ((2.0, 1.0), (4.0, 0.7)))
    picture.draw([bound("DeFedAvg", "s", 1.0, 2.0), slopes], tmp_path / "new" / "theory.png")
    assert (tmp_path / "new" / "theory.png").read_bytes().startswith(b"\x89PNG")


def test_lines_in_words() -> None:
    def words(row: Row) -> str:
        return " ".join(line(row).split())

    assert words(bound("b", "[000] Theorem 1", 1.0, 4.0)) == "holds b 1 <= 4, 25% of the bound ([000] Theorem 1)"
    assert words(near("n", "law", 0.9, 1.0, 0.05)) == "FAILS n 0.9, expected 1 +- 0.05 (law)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of_algorithm", "updates"),
    [(orders.of_defedavg, 1000), (orders.of_fedbuff, 400), (orders.of_fedagrac, 400), (orders.of_fedecho, 400)],
)
def test_orders_hold(of_algorithm: Callable[[int, int], Iterator[Row]], updates: int) -> None:
    rows = list(of_algorithm(3, updates))
    assert [row.check for row in rows if not row.holds] == []
    assert len(rows) >= 3


@pytest.mark.slow
def test_all_hold() -> None:
    rows = list(table.rows(quick=True))
    assert [row.check for row in rows if not row.holds] == []
    assert {row.kind for row in rows} == {"bound", "limit", "law"}
    assert json.loads(json.dumps([row.as_dict() for row in rows]))
