"""The formulas of the theorems against their printed forms."""

from __future__ import annotations

import dataclasses
import math

import pytest

from fedbench.proof.theory import bounds
from fedbench.proof.theory.bounds import Setting

S = Setting(A0=3.0, L=2.0, sigma2=1.5, K=5, n=8, T=4000, lam=2, G2=10.0, nu2=1.0, gamma2=0.5, clients=40)


def test_the_prescribed_rates_give_the_closed_form_of_defedavg_iid() -> None:
    """Wang et al. 2024 (14), corrected: sqrt(128 sigma^2 L A0 / (n K T)) + 8 L / (K T)."""
    el, eg = bounds.defedavg_iid_rates(S)
    closed = math.sqrt(128 * S.sigma2 * S.L * S.A0 / (S.n * S.K * S.T)) + 8 * S.L / (S.K * S.T)
    assert sum(bounds.defedavg_iid(S, el, eg).values()) == pytest.approx(closed, rel=1e-12)


def test_the_prescribed_rates_give_the_closed_form_of_defedavg_niid() -> None:
    """Wang et al. 2024, Theorem 1: 10 sqrt(A0 S / (n K T)) + 8 L^2 (sigma^2 + 8 K nu^2) / (S K T),
    S = 4 sigma^2 L + 2 L K G^2."""
    el, eg = bounds.defedavg_niid_prescribed(S)
    big_s = 4 * S.sigma2 * S.L + 2 * S.L * S.K * S.G2
    closed = 10 * math.sqrt(S.A0 * big_s / (S.n * S.K * S.T)) + 8 * S.L**2 * (S.sigma2 + 8 * S.K * S.nu2) / (big_s * S.K * S.T)
    assert sum(bounds.defedavg_niid(S, el, eg).values()) == pytest.approx(closed, rel=1e-12)


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
    """Toghani and Uribe 2022, Theorem 1 at eta = 1 / (Q sqrt(L T)) and an admissible T; the general
    form without 1 / (1 - a) is below the printed one."""
    T = int(160 * S.L * (S.K + 7) * (S.lam + 1) ** 3) + 1
    s = Setting(A0=3.0, L=2.0, sigma2=1.5, K=5, n=8, T=T, lam=2, gamma2=0.5, clients=40)
    el = 1 / (s.K * math.sqrt(s.L * T))
    printed = (
        8 * math.sqrt(s.L) * s.A0 / math.sqrt(T)
        + 16 * math.sqrt(s.L) * (s.sigma2 + s.gamma2) / math.sqrt(T)
        + 320 * s.L * (s.K + 1) * (s.lam**2 + 1) * (s.sigma2 + s.clients * s.gamma2) / T
    )
    assert bounds.fedbuff_allows(s, el)
    assert 0 < sum(bounds.fedbuff(s, el).values()) < printed


def test_each_term_comes_from_what_it_is_named_after() -> None:
    def without(**changes: float) -> dict[str, float]:
        return bounds.fedbuff(dataclasses.replace(S, **changes), 1e-4)

    assert without(A0=0.0)["transient"] == 0
    assert without(gamma2=0.0)["heterogeneity"] == 0
    assert without(sigma2=0.0)["noise"] == 0
    assert without(lam=0)["delay"] == 0
    assert bounds.defedavg_niid(dataclasses.replace(S, nu2=0.0), 1e-3, 1.0)["heterogeneity"] == 0
    assert bounds.defedavg_niid(dataclasses.replace(S, sigma2=0.0), 1e-3, 1.0)["noise"] == 0
    assert bounds.defedavg_niid(dataclasses.replace(S, G2=0.0), 1e-3, 1.0)["gradient size"] == 0
