"""Mathematics that several server rules share: aggregation weights, staleness weights, moments, agreement of directions."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError
from fedbench.kernels.accumulate import movement
from fedbench.types import Batch, Info, Vector, Weights

WeightRule = Literal["uniform", "examples", "p", "p_normalised", "unbiased"]
StalenessRule = Literal["constant", "poly", "hinge"]


def weights(rule: WeightRule, batch: Batch, info: Info) -> Weights:
    """Aggregation weights a (K,), one per consumed entry (multiplicities count).

    uniform 1/K; examples n_i / sum n_j; p p_i (all clients must take part, else UsageError); p_normalised p_i / sum p_j;
    unbiased N p_i / K.
    """
    size = len(batch.clients)
    if rule == "uniform":
        return np.full(size, 1.0 / size)
    if rule == "examples":
        return np.asarray(batch.n / batch.n.sum())
    if rule == "p":
        if not _everybody(batch, info):
            raise UsageError(
                f"weights p: needs every one of the {info.clients} clients exactly once in an update, got {size} entries "
                f"of {len(np.unique(batch.clients))} clients; use weights = p_normalised, examples or unbiased"
            )
        return batch.p
    if rule == "p_normalised":
        return np.asarray(batch.p / batch.p.sum())
    if rule == "unbiased":
        return info.clients * batch.p / size
    raise UsageError(f"weights: unknown rule {rule!r}")


def _everybody(batch: Batch, info: Info) -> bool:
    return len(batch.clients) == info.clients and len(np.unique(batch.clients)) == info.clients


def participation_weights(batch: Batch, info: Info) -> Weights:
    """p_i if all N clients take part, else 1/K [FedaGrac]."""
    return weights("p" if _everybody(batch, info) else "uniform", batch, info)


def staleness_weight(rule: StalenessRule, tau: npt.ArrayLike, a: float = 0.5, b: float = 4.0) -> Weights:
    """s(tau), float64: constant 1; poly (1 + tau)^-a; hinge 1 if tau <= b else 1 / (a (tau - b) + 1) [FedAsync, sec. 5.2]."""
    tau = np.asarray(tau, np.float64)
    if rule == "constant":
        return np.ones_like(tau)
    if rule == "poly":
        return np.asarray((1 + tau) ** -a)
    if rule == "hinge":
        return np.where(tau <= b, 1.0, 1.0 / (a * np.maximum(tau - b, 0) + 1))
    raise UsageError(f"staleness: unknown rule {rule!r}")


def moments(m: Vector, v: Vector, direction: Vector, beta1: float, beta2: float) -> tuple[Vector, Vector]:
    """m' = beta1 m + (1 - beta1) D and v' = beta2 v + (1 - beta2) D^2, elementwise."""
    return beta1 * m + (1 - beta1) * direction, beta2 * v + (1 - beta2) * direction * direction


def direction_cosine(x: Vector, base: Vector, delta: Vector) -> float | None:
    """cos(x - base, delta), how far an arrival agrees with the server's own movement since `base` [FedAC]; one pass over memory.

    None where it is undefined because the server has not moved. A delta with |delta| <= 1e-12 |x| counts as zero, whose cosine is 0:
    the rounding noise of a vanished delta must not decide.
    """
    sums = movement(x, base, delta)
    if sums.moved2 == 0:
        return None
    if sums.delta2 <= 1e-24 * sums.x2:
        return 0.0
    return sums.product / (math.sqrt(sums.moved2) * math.sqrt(sums.delta2))
