"""Kernel vectors: arithmetic of the server, without the engine or the clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from fedbench import kernels as k
from fedbench.algorithms.fadas import FADAS
from fedbench.algorithms.fedac import agreement
from fedbench.kernels.server import StalenessRule
from fedbench.proof.algorithm_vectors import make_algorithm
from fedbench.proof.compare import Unsupported
from fedbench.proof.forms import Values
from fedbench.types import Vector, Weights

Row = list[float]
Tensor = npt.ArrayLike
Found = dict[str, object]
Cast = Callable[[npt.ArrayLike], Vector]
Rule = Mapping[str, str | float | None]
RULES: dict[str, StalenessRule] = {"none": "constant", "constant": "constant", "poly": "poly", "hinge": "hinge"}

OF_FADAS = ("eta_g", "beta1", "beta2", "eps", "amsgrad", "bias_correction", "delay_adaptive", "tau_c", "shrink")

# Every kernel gets a function that makes arrays of the precision, and the inputs that it names.


def _staleness(function: Rule, taus: list[int]) -> Weights:
    kind = RULES.get(str(function["kind"]))
    if kind is None:
        raise Unsupported(f"staleness function {function['kind']!r}")
    return k.staleness_weight(kind, taus, **{name: float(a) for name in ("a", "b") if (a := function.get(name)) is not None})


def _accumulate(cast: Cast, x: Row, deltas: list[Row], staleness: list[int], weight: Rule, eta_g: float) -> Found:
    s, rows = _staleness(weight, staleness), cast(deltas)
    running = [k.weighted_sum(s[:m], rows[:m]) for m in range(1, len(s) + 1)]
    return {"buffer": running, "x": cast(x) + eta_g * k.weighted_sum(s / len(s), rows)}


def _staleness_weight(cast: Cast, taus: list[int], functions: list[Rule]) -> Found:
    return {"weights": [_staleness(function, taus) for function in functions]}


def _fedac_weights(cast: Cast, x: Row, bases: list[Row], deltas: list[Row], staleness: list[int]) -> Found:
    now, rows = cast(x), list(zip(cast(bases), cast(deltas), staleness, strict=True))
    r = np.array([agreement(now, *row) for row in rows])
    return {
        "cos": [None if tau == 0 else k.direction_cosine(now, base, delta) for base, delta, tau in rows],
        "r": r,
        "w": r / r.sum(),
        "D": k.weighted_sum(r / r.sum(), cast(deltas)),
    }


def _fedac_server(cast: Cast, x: Row, D: list[Row], eta_g: float, beta1: float, beta2: float, eps: float) -> Found:
    now, out = cast(x), []
    m, v = np.zeros_like(now), np.zeros_like(now)
    rule = k.AdamRule(eta_g, beta1, beta2, eps, bias_correction=False, ahead=True)
    for direction in D:
        k.adaptive_step(now, m, v, None, cast(direction), rule, use_maximum=False)
        out.append(now.copy())
    return {"x": out, "m": m, "v": v}


def _distill(cast: Cast, student: list[Row], teacher: list[Row], alpha_min: float, alpha_max: float) -> Found:
    got = vars(k.distill(cast(student), cast(teacher), alpha_min, alpha_max))
    return {**got, "P": got["probabilities"], "H": got["entropy"], "Hhat": got["relative_entropy"]}


def _teacher_mean(cast: Cast, store: list[list[Row] | None], batch: list[int]) -> Found:
    logits = {client: cast(rows) for client, rows in enumerate(store) if rows is not None}
    first = next(iter(logits.values()))
    table = k.TeacherMean(first.shape[0], first.shape[1], first.dtype)
    for client, rows in logits.items():
        table.replace(client, rows)
    return {"teacher": table.mean(batch), "count": table.count}


def _clip_step(cast: Cast, params: list[Tensor], grads: list[list[Tensor]], optimizer: Rule, clip: float | None = None) -> Found:
    """Makes clipped steps on one flat vector of all tensors, so that the norm is that of all.
    Results are split into tensors again for the comparison."""
    x, name = cast(_flat(params)), optimizer["name"]
    numbers = {part: float(number) for part, number in optimizer.items() if part != "name" and number is not None}
    if name not in ("sgd", "adam"):
        raise Unsupported(f"optimizer {name!r}")
    shapes = [np.shape(tensor) for tensor in params]
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    m, v, steps = np.zeros_like(x), np.zeros_like(x), []
    for step, tensors in enumerate(grads, start=1):
        g = cast(_flat(tensors))
        if name == "sgd":
            done = k.clip_sgd(x, g, numbers["lr"], clip)
        else:
            rule = k.AdamRule(numbers["lr"], numbers["beta1"], numbers["beta2"], numbers["eps"], step=step)
            done = k.clip_adam(x, m, v, g, rule, clip)
        steps.append(([part.reshape(shape) for part, shape in zip(np.split(x.copy(), ends), shapes, strict=True)], *done))
    return {name: [step[i] for step in steps] for i, name in enumerate(("params", "norm", "factor"))}


def _flat(tensors: list[Tensor]) -> npt.NDArray[np.float64]:
    return np.concatenate([np.ravel(tensor) for tensor in tensors])


def _fadas_server(cast: Cast, x: Row, D: list[Row], tmax: list[int], **params: object) -> Found:
    now, fadas = cast(x), make_algorithm("fadas", {name: params[name] for name in OF_FADAS if name in params})
    assert isinstance(fadas, FADAS)
    (m, v, vhat), steps = (np.zeros_like(now) for _ in range(3)), []
    for step, (direction, longest) in enumerate(zip(D, tmax, strict=True), start=1):
        rate = fadas.rate(longest, len(now))
        rule = k.AdamRule(rate, fadas.beta1, fadas.beta2, fadas.eps, fadas.bias_correction, step)
        k.adaptive_step(now, m, v, vhat, cast(direction), rule, use_maximum=fadas.amsgrad)
        steps.append((now.copy(), vhat.copy(), rate))
    return {**dict(zip(("x", "vhat", "eta"), map(list, zip(*steps, strict=True)), strict=True)), "m": m, "v": v}


def _dylu(cast: Cast, step_seconds: Row, steps: int) -> Found:
    return {"steps": k.steps_by_speed(np.array(step_seconds, np.float64), steps)}


def _route(cast: Cast, p: Row, u: Row) -> Found:
    return {"client": k.route(p, np.array(u))}


KERNELS: dict[str, Callable[..., Found]] = {
    kernel.__name__.removeprefix("_"): kernel
    for kernel in (
        *(_accumulate, _staleness_weight, _fedac_weights, _fedac_server, _distill, _teacher_mean),
        *(_clip_step, _fadas_server, _route, _dylu),
    )
}


class KernelVector(Values):
    kernel: str

    def check(self, precision: str) -> float:
        kernel = KERNELS.get(self.kernel)
        if kernel is None:
            raise Unsupported(f"kernel {self.kernel!r}")
        return self.largest(self.of(kernel, lambda values: np.array(values, precision)), precision)
