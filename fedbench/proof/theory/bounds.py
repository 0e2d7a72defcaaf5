"""The bounds of theorems as formulas, which give every term of a bound by name, with all constants.
Errors of the papers are corrected, as noted at each.

Symbols: A0 = F(x^0) - F*, L is the smoothness, sigma2 the variance of one stochastic gradient, el
and eg are the local and the server's rate, K is the number of local steps, n that of the clients of
an update, T that of updates, and lam the largest staleness, which is at least 1 in Wang et al. The
term `transient` is the part of a bound that comes from the start.

"Wang et al." is Achieving Linear Speedup in Asynchronous Federated Learning with Heterogeneous
Clients (DeFedAvg). "Toghani and Uribe" is the paper of 2022, Unbounded Gradients in Federated
Learning with Buffered Asynchronous Aggregation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """The constants of a problem and a run on which the bounds depend. G2 bounds |grad F_i|^2 over
    all iterates, nu2 bounds the heterogeneity |grad F_i - grad F|^2 of every client, and gamma2 is
    its mean over the clients."""

    A0: float
    L: float
    sigma2: float
    K: int
    n: int
    T: int
    lam: int
    G2: float = 0.0
    nu2: float = 0.0
    gamma2: float = 0.0
    clients: int = 0


def defedavg_niid_rates(s: Setting) -> tuple[float, float]:
    """Returns (el, eg) as large as (11) of Wang et al., Theorem 1, allows for sampling with
    replacement."""
    el = 1 / (8 * s.L * s.K)
    R = (2 * s.sigma2 + s.G2 * s.K) / (8 * s.sigma2 * s.L * s.K * s.lam + 4 * s.L * s.G2 * s.K**2 * s.lam**2)
    return el, min(1 / (4 * s.L * s.K * s.lam), R) / el


def defedavg_niid_prescribed(s: Setting) -> tuple[float, float]:
    """Returns (el, eg) as Wang et al., Theorem 1, prescribes: eg = sqrt(4 n K A0) and el = 1 / (K
    sqrt(S T)) with S = 4 sigma2 L + 2 L K G2. The theorem prints K under the root, but its proof
    needs it outside."""
    S = 4 * s.sigma2 * s.L + 2 * s.L * s.K * s.G2
    return 1 / (s.K * math.sqrt(S * s.T)), math.sqrt(4 * s.n * s.K * s.A0)


def defedavg_niid(s: Setting, el: float, eg: float) -> dict[str, float]:
    """Returns the bound of Wang et al., Theorem 1 in its general form, on the mean over t of
    E|grad F(x^t)|^2."""
    return {
        "transient": 4 * s.A0 / (s.K * s.T * eg * el),
        "noise": 16 * s.sigma2 * s.L / s.n * eg * el + 8 * s.L**2 * s.K * s.sigma2 * el**2,
        "gradient size": 8 * s.L * s.G2 * s.K / s.n * eg * el,
        "heterogeneity": 64 * s.L**2 * s.K**2 * s.nu2 * el**2,
    }


def defedavg_iid_rates(s: Setting) -> tuple[float, float]:
    """Returns (el, eg) as Wang et al., Theorem 2, prescribes: eg = sqrt(n K A0 / 2) and el = 1 / (K
    sqrt(sigma2 L T))."""
    return 1 / (s.K * math.sqrt(s.sigma2 * s.L * s.T)), math.sqrt(s.n * s.K * s.A0 / 2)


def defedavg_iid_allows(s: Setting, el: float, eg: float) -> bool:
    """Returns whether the rates meet (13) of Wang et al., Theorem 2."""
    return el <= 1 / (4 * math.sqrt(3) * s.L * s.K) and eg * el <= 1 / (4 * s.L * s.K * s.lam)


def defedavg_iid(s: Setting, el: float, eg: float) -> dict[str, float]:
    """Returns the bound of Wang et al., Theorem 2 in its general form. (14) prints it with one root
    over both terms, and without L and sigma2."""
    return {
        "transient": 4 * s.A0 / (s.K * s.T * eg * el),
        "noise": 8 * s.L * s.sigma2 * eg * el / s.n,
        "noise within a job": 8 * s.L**2 * s.K * s.sigma2 * el**2,
    }


def fedbuff_shares(s: Setting, el: float) -> tuple[float, float, float, float]:
    """Returns a1, a2, a3 and e phi of Toghani and Uribe, Theorem 1, with beta M = 1. a1 + a2 + a3
    must be below 1. (34) has one Q too many in a2."""
    phi = 8 * el**2 * s.K**2 * (1 + 2 * s.K) * 2
    e = 1 + 4 * el * s.L
    a2, a3 = s.L**2 * (s.lam**2 + 1) * e * phi, s.L**2 * e * s.lam * (s.lam + 1) ** 2 * phi
    return 4 * el * s.L * s.K, a2, a3, e * phi


def fedbuff_allows(s: Setting, el: float) -> bool:
    """Returns whether the local rate meets the conditions of Toghani and Uribe, Theorem 1."""
    return sum(fedbuff_shares(s, el)[:3]) < 1 and el <= 1 / (4 * s.L * (s.K + 1))


def fedbuff(s: Setting, el: float) -> dict[str, float]:
    """Returns the bound of Toghani and Uribe, Theorem 1 in its general form: (36), with the factor
    1/T that its first term lacks. With beta = 1/M on the sum of the buffer, server_lr is 1."""
    a1, a2, a3, e_phi = fedbuff_shares(s, el)
    third = 2 * s.L**2 * e_phi * (s.sigma2 + s.clients * s.gamma2)
    terms = {
        "transient": 2 * s.A0 / (el * s.K * s.T),
        "noise": 4 * el * s.K * s.L * s.sigma2,
        "heterogeneity": 4 * el * s.K * s.L * s.gamma2,
        "within a job": third,
        "delay": third * s.lam**2,
    }
    return {name: term / (1 - a1 - a2 - a3) for name, term in terms.items()}
