"""The front doors of fedbench.kernels as data: arguments by shape, the call, and what numpy says
the result is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import kernels as k
from fedbench.bench import truth
from fedbench.kernels.accumulate import weighted_sum_norm
from fedbench.kernels.distill import Distilled
from fedbench.types import Batch, Info
from tests.kernels import reference as ref

Array = npt.NDArray[Any]
Arguments = dict[str, Any]
RULE = k.AdamRule(0.01, 0.9, 0.99, 1e-3, True, 3)
FIELDS = ("grad", "probabilities", "label", "entropy", "kl", "ce")


@dataclass(frozen=True)
class Door:
    """`shapes`: argument -> axes, such as Kd; `call` and `numpy` take the arguments and return what
    is compared.

    `outputs` are written; `fixed` have one dtype whatever the run's; `exact`: bit for bit; `also`
    names of spoilers that an argument takes without harm, as documented. Of an argument that alone
    decides the dtype, either dtype will do.
    """

    shapes: dict[str, str]
    call: Callable[[Arguments], Any]
    numpy: Callable[[Arguments], Any]
    outputs: frozenset[str] = frozenset()
    fixed: dict[str, Any] = field(default_factory=dict)
    exact: bool = True
    also: dict[str, frozenset[str]] = field(default_factory=dict)


def optimiser(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "d")


def _adam(a: Arguments) -> list[Array]:
    x, (m, v), _, _ = ref.clip_adam(a["x"], (a["m"], a["v"]), a["g"], RULE, 1.0)
    return [x, m, v]


def _adaptive(a: Arguments, direction: Array) -> list[Array]:
    x, moments = truth.adaptive(a["x"], (a["m"], a["v"], a["vhat"]), direction, RULE, True)
    return [x, *moments]


def _call_adam(a: Arguments) -> list[Array]:
    k.clip_adam(a["x"], a["m"], a["v"], a["g"], RULE, 1.0)
    return [a["x"], a["m"], a["v"]]


def _call_adaptive(a: Arguments) -> list[Array]:
    k.adaptive_step(a["x"], a["m"], a["v"], a["vhat"], a["direction"], RULE)
    return [a["x"], a["m"], a["v"], a["vhat"]]


def _call_sum_adaptive(a: Arguments) -> list[Array]:
    k.sum_adaptive_step(a["x"], a["m"], a["v"], a["vhat"], a["weights"], a["vectors"], RULE)
    return [a["x"], a["m"], a["v"], a["vhat"]]


def _call_sgd(a: Arguments) -> list[Array]:
    k.clip_sgd(a["x"], a["g"], 0.1, 1.0)
    return [a["x"]]


def _call_distill(a: Arguments) -> list[Array]:
    out = Distilled(0, 0, 0, *(a[name] for name in FIELDS))
    got = k.distill(a["student"], a["teacher"], 0.2, 0.8, out=out)
    return [getattr(got, name) for name in FIELDS]


def _numpy_distill(a: Arguments) -> list[Array]:
    want = truth.distill(a["student"], a["teacher"], 0.2, 0.8)
    return [want[name] for name in FIELDS]


def rows_of(vectors: Any) -> Any:
    """A list of the rows, where there are any."""
    return list(vectors) if type(vectors) is np.ndarray and vectors.ndim else vectors


def _teacher_mean(a: Arguments) -> Array:
    table = k.TeacherMean(*np.shape(a["first"])[:2], a["dtype"]) if np.ndim(a["first"]) == 2 else k.TeacherMean(3, 4, a["dtype"])
    table.replace(0, a["first"])
    table.replace(1, a["second"])
    return table.mean([0])


def _batch(a: Arguments, size: int) -> Batch:
    zeros = np.zeros(size, np.int32)
    return Batch(
        clients=np.arange(size, dtype=np.int32), steps=zeros, base=zeros, staleness=zeros, n=a["n"], p=a["n"],
        first=np.ones(size, np.bool_), version=0, sent={}, base_x=lambda i: zeros,
    )  # fmt: skip


def _weights(a: Arguments) -> list[Array]:
    """K clients of K, so that every rule applies."""
    batch, info = _batch(a, a["size"]), Info(a["size"], np.ones(a["size"]))
    return [k.weights("examples", batch, info), k.weights("p_normalised", batch, info), k.participation_weights(batch, info)]


LISTS = frozenset({"list"})
EITHER = frozenset({"other dtype"})
SUMMED = {"vectors": "Kd", "weights": "K"}
STATE = optimiser("x", "m", "v", "vhat")
WRITTEN = frozenset(STATE)
DISTILLED = {"grad": "BC", "probabilities": "BC", "label": "B", "entropy": "B", "kl": "B", "ce": "B"}
COLUMNS = {"label": np.int64, "entropy": np.float64, "kl": np.float64, "ce": np.float64}
F64 = {"weights": np.float64}

DOORS: dict[str, Door] = {
    "weighted_sum": Door(
        SUMMED, lambda a: k.weighted_sum(a["weights"], a["vectors"]), lambda a: ref.weighted_sum(a["weights"], a["vectors"]),
        fixed=F64, also={"weights": LISTS, "vectors": EITHER},
    ),
    "weighted_sum of a list, into out": Door(
        SUMMED | {"out": "d"},
        lambda a: k.weighted_sum(a["weights"], rows_of(a["vectors"]), out=a["out"]),
        lambda a: ref.weighted_sum(a["weights"], a["vectors"]),
        frozenset({"out"}), F64,
        also={"weights": LISTS, "vectors": frozenset({"reversed"}), "out": frozenset({"None"})},
    ),
    "weighted_sum_norm": Door(
        SUMMED, lambda a: weighted_sum_norm(a["weights"], a["vectors"])[1],
        lambda a: ref.dot(*[ref.weighted_sum(a["weights"], a["vectors"])] * 2), fixed=F64, also={"weights": LISTS, "vectors": EITHER},
    ),
    "mean": Door(
        {"vectors": "Kd"}, lambda a: k.mean(a["vectors"]),
        lambda a: ref.weighted_sum(np.full(len(a["vectors"]), 1 / len(a["vectors"])), a["vectors"]),
        also={"vectors": EITHER | {"longer"}},
    ),
    "dot": Door({"a": "d", "b": "d"}, lambda a: k.dot(a["a"], a["b"]), lambda a: ref.dot(a["a"], a["b"])),
    "norm": Door(
        {"a": "d"}, lambda a: k.norm(a["a"]), lambda a: np.sqrt(ref.dot(a["a"], a["a"])), also={"a": EITHER | {"longer", "empty"}}
    ),
    "movement": Door(
        {"x": "d", "base": "d", "delta": "d"}, lambda a: tuple(k.movement(a["x"], a["base"], a["delta"])),
        lambda a: (
            ref.dot(a["x"], a["x"]), ref.dot(a["x"] - a["base"], a["x"] - a["base"]),
            ref.dot(a["delta"], a["delta"]), ref.dot(a["x"] - a["base"], a["delta"]),
        ),
    ),
    "clip_sgd": Door(
        optimiser("x", "g"), _call_sgd, lambda a: [ref.clip_sgd(a["x"], a["g"], 0.1, 1.0)[0]], frozenset({"x"})
    ),
    "clip_adam": Door(optimiser("x", "m", "v", "g"), _call_adam, _adam, frozenset("xmv")),
    "adaptive_step": Door(
        STATE | {"direction": "d"}, _call_adaptive, lambda a: _adaptive(a, a["direction"]), WRITTEN
    ),
    "sum_adaptive_step": Door(
        STATE | SUMMED, _call_sum_adaptive, lambda a: _adaptive(a, ref.weighted_sum(a["weights"], a["vectors"])), WRITTEN, F64,
        also={"weights": LISTS},
    ),
    "distill": Door(
        {"student": "BC", "teacher": "BC"} | DISTILLED, _call_distill, _numpy_distill, frozenset(DISTILLED), COLUMNS, exact=False
    ),
    "softmax": Door(
        {"logits": "BC"}, lambda a: k.softmax(a["logits"]), lambda a: np.exp(truth.log_softmax(a["logits"].astype(float))),
        exact=False, also={"logits": EITHER | {"longer"}},
    ),
    "TeacherMean": Door(
        {"first": "BC", "second": "BC"}, _teacher_mean, lambda a: (a["first"][:1].astype(float) + a["second"][:1]) / 2, exact=False
    ),
    "weights": Door(
        {"n": "K"}, _weights, lambda a: [a["n"] / a["n"].sum(), a["n"] / a["n"].sum(), a["n"]], fixed={"n": np.float64}, exact=False
    ),
}  # fmt: skip
