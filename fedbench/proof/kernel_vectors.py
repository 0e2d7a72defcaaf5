"""Kernel vectors: arithmetic of the server, without the engine or the clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import kernels as k
from fedbench.algorithms.fedac import agreement
from fedbench.proof.compare import Unsupported, compare
from fedbench.types import Array

Inputs = dict[str, Any]
Cast = Callable[[Any], Array]
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
        "cos": [None if tau == 0 else k.direction_cosine(x, base, delta) for base, delta, tau in rows],
        "r": r,
        "w": r / r.sum(),
        "D": k.weighted_sum(r / r.sum(), deltas),
    }


def _fedac_server(i: Inputs, cast: Cast) -> dict[str, Any]:
    x, out = cast(i["x"]), []
    m, v = np.zeros_like(x), np.zeros_like(x)
    rule = k.AdamRule(i["eta_g"], i["beta1"], i["beta2"], i["eps"], bias_correction=False, ahead=True)
    for D in i["D"]:
        k.adaptive_step(x, m, v, None, cast(D), rule, use_maximum=False)
        out.append(x.copy())
    return {"x": out, "m": m, "v": v}


def _distill(i: Inputs, cast: Cast) -> dict[str, Any]:
    got = k.distill(cast(i["student"]), cast(i["teacher"]), i["alpha_min"], i["alpha_max"])
    names = {"P": "probabilities", "H": "entropy", "Hhat": "relative_entropy"}
    return {
        name: getattr(got, names.get(name, name)) for name in ("P", "label", "H", "Hhat", "alpha", "kl", "ce", "loss", "grad")
    }


def _teacher_mean(i: Inputs, cast: Cast) -> dict[str, Any]:
    store = {client: cast(logits) for client, logits in enumerate(i["store"]) if logits is not None}
    first = next(iter(store.values()))
    table = k.TeacherMean(first.shape[0], first.shape[1], first.dtype)
    for client, logits in store.items():
        table.replace(client, logits)
    return {"teacher": table.mean(i["batch"]), "count": table.count}


def _clip_step(i: Inputs, cast: Cast) -> dict[str, Any]:
    """Makes clipped steps on one flat vector of all tensors, so that the norm is that of all.
    Results are split into tensors again for the comparison."""
    x, rule = cast(np.concatenate(i["params"])), dict(i["optimizer"])
    name, rate = rule.pop("name"), rule.pop("lr")
    if name not in ("sgd", "adam"):
        raise Unsupported(f"optimizer {name!r}")
    ends = np.cumsum([len(tensor) for tensor in i["params"]])[:-1]
    m, v = np.zeros_like(x), np.zeros_like(x)
    out: dict[str, Any] = {"params": [], "norm": [], "factor": []}
    for step, tensors in enumerate(i["grads"], start=1):
        g = cast(np.concatenate(tensors))
        if name == "sgd":
            norm, factor = k.clip_sgd(x, g, rate, i["clip"])
        else:
            adam = k.AdamRule(rate, rule["beta1"], rule["beta2"], rule["eps"], step=step)
            norm, factor = k.clip_adam(x, m, v, g, adam, i["clip"])
        out["params"].append(np.split(x.copy(), ends))
        out["norm"].append(norm)
        out["factor"].append(factor)
    return out


def _fadas_rate(i: Inputs, tmax: float) -> float:
    """Returns eta_g, or the smaller rate of FADAS if the largest staleness exceeds tau_c."""
    if i["shrink"] not in ("code", "paper_min"):
        raise Unsupported(f"shrink {i['shrink']!r}")
    if not i["delay_adaptive"] or tmax <= i["tau_c"]:
        return float(i["eta_g"])
    return float(i["eta_g"] / tmax if i["shrink"] == "code" else min(i["eta_g"], 1 / tmax))


def _fadas_server(i: Inputs, cast: Cast) -> dict[str, Any]:
    x = cast(i["x"])
    m, v, vhat = (np.zeros_like(x) for _ in range(3))
    out: dict[str, Any] = {"x": [], "vhat": [], "eta": []}
    for step, (D, tmax) in enumerate(zip(i["D"], i["tmax"], strict=True), start=1):
        rate = _fadas_rate(i, tmax)
        rule = k.AdamRule(rate, i["beta1"], i["beta2"], i["eps"], i["bias_correction"], step)
        k.adaptive_step(x, m, v, vhat, cast(D), rule, use_maximum=i["amsgrad"])
        for name, value in (("x", x.copy()), ("vhat", vhat.copy()), ("eta", rate)):
            out[name].append(value)
    return out | {"m": m, "v": v}


def _route(i: Inputs, cast: Cast) -> dict[str, Any]:
    return {"client": k.route(i["p"], np.array(i["u"]))}


KERNELS: dict[str, Callable[[Inputs, Cast], dict[str, Any]]] = {
    "accumulate": _accumulate,
    "staleness_weight": _staleness_weight,
    "fedac_weights": _fedac_weights,
    "fedac_server": _fedac_server,
    "distill": _distill,
    "teacher_mean": _teacher_mean,
    "clip_step": _clip_step,
    "fadas_server": _fadas_server,
    "route": _route,
}


def check_kernel(vector: dict[str, Any], precision: str) -> float:
    """Returns the largest error as a fraction of its tolerance. Raises Unsupported or Mismatch."""
    kernel = KERNELS.get(vector["kernel"])
    if kernel is None:
        raise Unsupported(f"kernel {vector['kernel']!r}")
    got = kernel(vector["inputs"], lambda values: np.array(values, precision))
    return max(compare(got[name], want, vector["tolerance"][name][precision], name) for name, want in vector["expected"].items())
