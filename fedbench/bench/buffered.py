"""Cases of whole server updates of buffered algorithms, beside loops in torch, with one thread.

An update has five arrivals, which are float32 vectors of the size of server.py. The loops in torch
are as such code is usually written, where every operation makes a tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbench import kernels as k
from fedbench.bench.case import Outcome, Ready, Singles, Way, draws
from fedbench.bench.server import TORCH, Sum, our_way, server_case, total_of, true_step
from fedbench.bench.torch_ways import State, arrays, tensors

if TYPE_CHECKING:
    from torch import Tensor

ARRIVALS, CLIENTS = 5, 10
RATE, BETA1, BETA2, EPSILON, LEAST = 1e-3, 0.6, 0.9, 1e-8, 0.1


# ---- CA2FL: v = h + (1/M) sum (Delta_i - h_i), then h_i = Delta_i ----


class Cached(NamedTuple):
    deltas: Singles  # (5, d), of clients 0 .. 4
    rows: Singles  # (5, d): what they sent before; the others have sent nothing


def cached_inputs(d: int) -> Cached:
    return Cached(*draws("cached", d).standard_normal((2, ARRIVALS, d), np.float32))


def ours_calibrated(given: Cached) -> Ready:
    from fedbench.tables import ClientTable

    table = ClientTable(CLIENTS, np.zeros_like(given.deltas[0]))
    for client, row in enumerate(given.rows):
        table[client] = row
    arrived, weights = np.arange(ARRIVALS), np.full(ARRIVALS, 1 / ARRIVALS)
    return Ready(
        lambda: k.calibrated_mean(table, arrived, given.deltas, weights, divisor=CLIENTS),
        lambda v: {"v": v, **{f"h_{client}": table[client] for client in range(ARRIVALS)}},
    )


def torch_calibrated(given: Cached) -> Ready:
    import torch

    deltas, caches = tensors(given.deltas), [row.clone() for row in tensors(given.rows)]
    mean = torch.stack(caches).sum(0) / CLIENTS

    def act() -> Tensor:
        nonlocal mean
        total = torch.zeros_like(mean)
        for delta, cache in zip(deltas, caches, strict=True):
            total += delta - cache
        v = mean + total / ARRIVALS
        for delta, cache in zip(deltas, caches, strict=True):
            mean = mean + (delta - cache) / CLIENTS
            cache.copy_(delta)
        return v

    return Ready(act, lambda v: {"v": v.numpy()})


def true_calibrated(given: Cached) -> Outcome:
    mean = given.rows.sum(axis=0, dtype=np.float64) / CLIENTS
    v = mean + (given.deltas.astype(np.float64) - given.rows).mean(axis=0)
    return {"v": v, **{f"h_{client}": delta for client, delta in enumerate(given.deltas)}}


# ---- FedAC: weights by agreement with the server's movement, and the adaptive step of the sum ----


class Agreeing(NamedTuple):
    x: Singles  # (d,), as m and v
    m: Singles
    v: Singles
    bases: Singles  # (5, d), as deltas
    deltas: Singles


def agreeing_inputs(d: int) -> Agreeing:
    x, m, v = draws("agreeing", d).standard_normal((3, d), np.float32)
    noise, deltas = draws("arrivals", d).standard_normal((2, ARRIVALS, d), np.float32)
    share = np.linspace(0.1, 1.0, ARRIVALS, dtype=np.float32)[:, None]  # so that the weights differ
    return Agreeing(x, m, v * v + np.float32(0.01), x - share * deltas - noise, deltas)


def rule() -> k.AdamRule:
    return k.AdamRule(RATE, BETA1, BETA2, EPSILON, bias_correction=False, ahead=True)


def ours_agreeing(given: Agreeing) -> Ready:
    (x, m, v), adam = (a.copy() for a in given[:3]), rule()

    def act() -> None:
        pairs = zip(given.bases, given.deltas, strict=True)
        r = np.array([max(k.direction_cosine(x, base, delta) or 0.0, LEAST) for base, delta in pairs])
        k.sum_adaptive_step(x, m, v, None, r / r.sum(), given.deltas, adam, use_maximum=False)

    return Ready(act, lambda _: {"x": x, "m": m, "v": v})


def torch_agreeing(given: Agreeing) -> Ready:
    import torch

    x, m, v = tensors(given[:3])
    bases, deltas = tensors(given.bases), tensors(given.deltas)

    def act() -> State:
        nonlocal x, m, v
        r = [
            max(torch.cosine_similarity(x - base, delta, dim=0).item(), LEAST) for base, delta in zip(bases, deltas, strict=True)
        ]
        total = torch.zeros_like(x)
        for weight, delta in zip(r, deltas, strict=True):
            total += weight / sum(r) * delta
        m = BETA1 * m + (1 - BETA1) * total
        v = BETA2 * v + (1 - BETA2) * total**2
        x = x + RATE * (BETA1 * m + (1 - BETA1) * total) / (v.sqrt() + EPSILON)
        return {"x": x, "m": m, "v": v}

    return Ready(act, arrays)


def true_agreeing(given: Agreeing) -> Outcome:
    pairs = [
        (given.x.astype(np.float64) - base, delta.astype(np.float64))
        for base, delta in zip(given.bases, given.deltas, strict=True)
    ]
    r = np.array([max(moved @ delta / np.sqrt((moved @ moved) * (delta @ delta)), LEAST) for moved, delta in pairs])
    return true_step(given.x, given[1:3], total_of(Sum(r / r.sum(), given.deltas)), rule())


CASES = (
    server_case(
        "ca2fl-11m",
        cached_inputs,
        our_way(ours_calibrated, "fedbench.kernels:calibrated_mean"),
        true_calibrated,
        Way("torch-eager", torch_calibrated, TORCH),
    ),
    server_case(
        "fedac-11m",
        agreeing_inputs,
        our_way(ours_agreeing, "fedbench.kernels:direction_cosine"),
        true_agreeing,
        # cosine_similarity sums 11 million products in float32.
        Way("torch-eager", torch_agreeing, TORCH, tolerance=1e-3),
    ),
)
