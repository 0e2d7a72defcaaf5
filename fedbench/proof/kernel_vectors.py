"""Kernel vectors: server-side arithmetic without engine or clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import kernels as k
from fedbench.algorithms.fedac import adaptive_step, agreement, direction_cosine
from fedbench.proof.compare import Unsupported, compare

Inputs = dict[str, Any]
Cast = Callable[[Any], npt.NDArray[Any]]
RULES = {"none": "constant", "constant": "constant", "poly": "poly", "hinge": "hinge"}


def _staleness(function: dict[str, Any], taus: Any) -> npt.NDArray[np.float64]:
    kind = RULES.get(function["kind"])
    if kind is None:
        raise Unsupported(f"staleness function {function['kind']!r}")
    parameters = {name: float(function[name]) for name in ("a", "b") if function.get(name) is not None}
    return k.staleness_weight(kind, taus, **parameters)  # type: ignore[arg-type]


def _accumulate(i: Inputs, cast: Cast) -> dict[str, Any]:
    s, deltas = _staleness(i["weight"], i["staleness"]), cast(i["deltas"])
    running = [k.weighted_sum(s[:m], deltas[:m]) for m in range(1, len(s) + 1)]
    return {"buffer": running, "x": cast(i["x"]) + i["eta_g"] * k.weighted_sum(s / len(s), deltas)}


def _staleness_weight(i: Inputs, cast: Cast) -> dict[str, Any]:
    return {"weights": [_staleness(function, i["taus"]) for function in i["functions"]]}


def _fedac_weights(i: Inputs, cast: Cast) -> dict[str, Any]:
    x, deltas = cast(i["x"]), cast(i["deltas"])
    rows = list(zip(cast(i["bases"]), deltas, i["staleness"], strict=True))
    r = np.array([agreement(x, *row) for row in rows])
    return {
        "cos": [direction_cosine(x, *row) for row in rows],
        "r": r,
        "w": r / r.sum(),
        "D": k.weighted_sum(r / r.sum(), deltas),
    }


def _fedac_server(i: Inputs, cast: Cast) -> dict[str, Any]:
    x, out = cast(i["x"]), []
    m = v = np.zeros_like(x)
    for D in i["D"]:
        x, m, v = adaptive_step(x, m, v, cast(D), i["eta_g"], i["beta1"], i["beta2"], i["eps"])
        out.append(x)
    return {"x": out, "m": m, "v": v}


KERNELS: dict[str, Callable[[Inputs, Cast], dict[str, Any]]] = {
    "accumulate": _accumulate,
    "staleness_weight": _staleness_weight,
    "fedac_weights": _fedac_weights,
    "fedac_server": _fedac_server,
}


def check_kernel(vector: dict[str, Any], precision: str) -> float:
    """Largest error as a fraction of its tolerance. Raises Unsupported or Mismatch."""
    kernel = KERNELS.get(vector["kernel"])
    if kernel is None:
        raise Unsupported(f"kernel {vector['kernel']!r}")
    got = kernel(vector["inputs"], lambda values: np.array(values, precision))
    return max(compare(got[name], want, vector["tolerance"][name][precision], name) for name, want in vector["expected"].items())
