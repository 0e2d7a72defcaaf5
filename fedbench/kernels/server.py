"""Mathematics that several server rules share: aggregation weights, staleness weights, sums and
powers of numbers, and the cosine between two directions."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.errors import UsageError
from fedbench.kernels import checks
from fedbench.kernels.accumulate import movement
from fedbench.types import Batch, Info, Integers, Vector, Weights

WeightRule = Literal["uniform", "examples", "p", "p_normalised", "unbiased"]
StalenessRule = Literal["constant", "poly", "hinge"]


def ordered_sum(values: Iterable[float]) -> float:
    """Returns the sum of numbers, added one after another from 0 on.

    Python's `sum` does so up to version 3.11. From 3.12 on it makes up for roundings of floats, so
    a run that used it would have other bits there.

    Parameters
    ----------
    values : iterable of float
        The numbers.

    Returns
    -------
    float
        The sum; 0.0 of none.

    Examples
    --------
    >>> from fedbench import kernels
    >>> kernels.ordered_sum([0.1] * 10)
    0.9999999999999999
    """
    return functools.reduce(operator.add, values, 0.0)


def power(base: npt.ArrayLike, exponent: npt.ArrayLike) -> Weights:
    """Returns base ** exponent, with the same bits on every machine.

    `**` of floats is rounded differently in the last bit by other processors and libraries. This
    one is rounded correctly, in all but one of some 10^13 cases.

    Parameters
    ----------
    base : array_like
        Finite numbers >= 0. Where one is 0, the exponent is >= 0, and 0 ** 0 is 1.
    exponent : array_like
        Finite numbers. One of the two is a single number, or both have the same shape.

    Returns
    -------
    float64 array
        The powers, in the shape of both together.

    Raises
    ------
    ValueError
        A number is out of range, or the shapes differ.

    Examples
    --------
    >>> from fedbench import kernels
    >>> kernels.power([1, 4, 16], -0.5)
    array([1.  , 0.5 , 0.25])
    """
    x, y = (np.asarray(one, np.float64) for one in (base, exponent))
    if x.size != 1 and y.size != 1 and x.shape != y.shape:
        raise ValueError(f"power: expected one base, one exponent, or as many of both, got shapes {x.shape} and {y.shape}")
    if not ((x >= 0) & np.isfinite(x)).all():
        raise ValueError(f"power: expected finite bases >= 0, got {x.ravel().tolist()[:10]}")
    if not np.isfinite(y).all():
        raise ValueError(f"power: expected finite exponents, got {y.ravel().tolist()[:10]}")
    if ((x == 0) & (y < 0)).any():
        raise ValueError(f"power: expected exponents >= 0 for a base of 0, got {y.ravel().tolist()[:10]}")
    return _core.portable_pow(x.ravel(), y.ravel()).reshape(np.broadcast_shapes(x.shape, y.shape))


def weights(rule: WeightRule, batch: Batch, info: Info) -> Weights:
    """Returns aggregation weights a (K,), one per consumed entry.

    A client with several entries has several weights.

    Parameters
    ----------
    rule : {"uniform", "examples", "p", "p_normalised", "unbiased"}
        uniform: 1/K. examples: n_i / sum n_j. p: p_i, where all clients must take part exactly
        once. p_normalised: p_i / sum p_j. unbiased: N p_i / K.
    batch : Batch
        The entries, K >= 1. `batch.n` and `batch.p` are float64 (K,), finite and >= 0, and where
        they are divided by their sum, that must be > 0.
    info : Info
        What is known about the clients.

    Returns
    -------
    float64 array (K,)
        The weights.

    Raises
    ------
    UsageError
        The rule is unknown, or it is p and not everybody takes part exactly once.
    ValueError
        There is no entry, or `batch.n` or `batch.p` is out of range.
    """
    size = len(checks.integers("batch.clients", batch.clients))
    if size == 0:
        raise ValueError("batch.clients: expected at least one entry, got none")
    if rule == "uniform":
        return np.full(size, 1.0 / size)
    if rule == "examples":
        return _shares("batch.n", batch.n, size)
    if rule == "p":
        if not _everybody(batch, info):
            raise UsageError(
                f"weights p: needs every one of the {info.clients} clients exactly once in an update, got {size} entries "
                f"of {len(np.unique(batch.clients))} clients; use weights = p_normalised, examples or unbiased"
            )
        return _sizes("batch.p", batch.p, size)
    if rule == "p_normalised":
        return _shares("batch.p", batch.p, size)
    if rule == "unbiased":
        return info.clients * _sizes("batch.p", batch.p, size) / size
    raise UsageError(f"weights: unknown rule {rule!r}")


def _sizes(name: str, values: Weights, size: int) -> Weights:
    """Returns the values if they are `size` finite numbers >= 0."""
    checks.array(name, values, "(K,)", (np.dtype(np.float64),))
    if len(values) != size:
        raise ValueError(f"{name}: expected {size} values, one per entry, got {len(values)}")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"{name}: expected finite values >= 0, got {values.tolist()[:10]}")
    return values


def _shares(name: str, values: Weights, size: int) -> Weights:
    """Returns the values divided by their sum."""
    total = _sizes(name, values, size).sum()
    if not total > 0:
        raise ValueError(f"{name}: expected a sum > 0, got {total:g}")
    return np.asarray(values / total)


def _everybody(batch: Batch, info: Info) -> bool:
    return len(batch.clients) == info.clients and len(np.unique(batch.clients)) == info.clients


def participation_weights(batch: Batch, info: Info) -> Weights:
    """Returns the weights p_i if all N clients take part, else 1/K [FedaGrac].

    Parameters
    ----------
    batch : Batch
        The entries, K >= 1.
    info : Info
        What is known about the clients.

    Returns
    -------
    float64 array (K,)
        The weights.
    """
    return weights("p" if _everybody(batch, info) else "uniform", batch, info)


def staleness_weight(rule: StalenessRule, tau: npt.ArrayLike, a: float = 0.5, b: float = 4.0) -> Weights:
    """Returns the weights s(tau) of stale arrivals [FedAsync, sec. 5.2].

    Parameters
    ----------
    rule : {"constant", "poly", "hinge"}
        constant: 1. poly: (1 + tau)^-a. hinge: 1 if tau <= b else 1 / (a (tau - b) + 1).
    tau : array_like
        The staleness in versions, >= 0: one number, or an array of any shape.
    a : float
        How fast the weight falls, >= 0.
    b : float
        The staleness up to which the hinge is 1, >= 0.

    Returns
    -------
    float64 array
        The weights, in the shape of tau.

    Raises
    ------
    UsageError
        The rule is unknown.
    ValueError
        tau, a or b is negative or not finite.

    Examples
    --------
    >>> from fedbench import kernels
    >>> kernels.staleness_weight("poly", [0, 3])
    array([1. , 0.5])
    """
    a, b = checks.within("a", a, "finite and >= 0", 0), checks.within("b", b, "finite and >= 0", 0)
    tau = _staleness(tau)
    if rule == "constant":
        return np.ones_like(tau)
    if rule == "poly":
        return _core.portable_pow(1 + tau.ravel(), np.array([-a])).reshape(tau.shape)
    if rule == "hinge":
        return np.where(tau <= b, 1.0, 1.0 / (a * np.maximum(tau - b, 0) + 1))
    raise UsageError(f"staleness: unknown rule {rule!r}")


def _staleness(tau: object) -> Weights:
    found = tau if isinstance(tau, np.ndarray) else np.array(tau)
    if type(found) is not np.ndarray or (found.dtype.kind not in "iuf" and found.size):
        checks.refuse("tau", "numbers", found)
    if not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError(f"tau: expected finite values >= 0, got {found.ravel().tolist()[:10]}")
    return found.astype(np.float64)


def steps_by_speed(step_seconds: Weights, steps: int) -> Integers:
    """Returns local steps that take all clients about the time of the fastest [Liu et al. 2024,
    dynamic local updates].

    Parameters
    ----------
    step_seconds : float64 array (N,)
        The seconds of a step of every client, > 0.
    steps : int
        The steps of the fastest client, >= 1.

    Returns
    -------
    int64 array (N,)
        max(1, floor(steps * (min / step_seconds) + 1e-9)), where the 1e-9 keeps a whole number
        from falling below itself by rounding.

    Raises
    ------
    TypeError
        `step_seconds` has a wrong dtype, shape or layout, or `steps` is no whole number.
    ValueError
        A time is not finite or not > 0, there is none, or `steps` is less than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fedbench import kernels
    >>> kernels.steps_by_speed(np.array([1.0, 2.0, 0.5]), 16)
    array([ 8,  4, 16])
    """
    checks.whole("steps", steps, 1, (1 << 31) - 1)
    checks.array("step_seconds", step_seconds, "(N,)", (np.dtype(np.float64),))
    if not (len(step_seconds) and (np.isfinite(step_seconds) & (step_seconds > 0)).all()):
        raise ValueError(f"step_seconds: expected finite values > 0, got {step_seconds.tolist()[:10]}")
    found = np.floor(steps * (step_seconds.min() / step_seconds) + 1e-9)
    return np.asarray(np.maximum(1, found), np.int64)


def direction_cosine(x: Vector, base: Vector, delta: Vector) -> float | None:
    """Returns cos(x - base, delta): how far an arrival agrees with the server's own movement
    [FedAC].

    It takes one pass over memory.

    Parameters
    ----------
    x : array (d,)
        The model now, float32 or float64.
    base : array (d,)
        The model from which the client started, of the same dtype.
    delta : array (d,)
        The client's progress, of the same dtype.

    Returns
    -------
    float or None
        The cosine. None if the server has not moved since `base`. 0 for a delta of the size of
        rounding noise, 1e-12 times that of x or less, since noise must not decide.
    """
    sums = movement(x, base, delta)
    if sums.moved2 == 0:
        return None
    if sums.delta2 <= 1e-24 * sums.x2:
        return 0.0
    return sums.cosine


def direction_angle(x: Vector, base: Vector, delta: Vector, *, smallest: float = 0.0) -> float:
    """Returns the angle between x - base and delta in degrees [FedQS].

    Parameters
    ----------
    x : array (d,)
        The model now, float32 or float64.
    base : array (d,)
        An earlier model, of the same dtype.
    delta : array (d,)
        The client's progress, of the same dtype.
    smallest : float
        An angle below it, in degrees, counts as 0.

    Returns
    -------
    float
        The angle, between 0 and 180. 0 if one of the two is zero.
    """
    sums = movement(x, base, delta)
    if sums.moved2 == 0 or sums.delta2 == 0:
        return 0.0
    angle = math.degrees(math.acos(min(max(sums.cosine, -1.0), 1.0)))
    return angle if angle >= smallest else 0.0
