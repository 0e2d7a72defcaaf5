"""Cases of the server's kernels, which take one pass over float32 vectors of d elements, beside
what torch programs do, with one thread.

d = 11,173,962 is the size of the ResNet-18 for CIFAR. Such vectors lie in main memory, whose
bandwidth is the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbench import kernels as k
from fedbench.bench import torch_ways as torches
from fedbench.bench.case import Case, Doubles, Given, Outcome, Ready, Singles, Way, draws
from fedbench.bench.torch_ways import CLIP, RATE, SERVER_EPSILON
from fedbench.bench.truth import adaptive

if TYPE_CHECKING:
    from fedbench.kernels.optimise import Second

D, SMALL = 11_173_962, 10_007
TORCH = ("torch",)


class Sum(NamedTuple):
    weights: Doubles  # (10,)
    deltas: Singles  # (10, d)


class Step(NamedTuple):
    x: Singles  # (d,), as all others
    m: Singles
    v: Singles
    vhat: Singles
    g: Singles


class SumStep(NamedTuple):
    sum: Sum
    step: Step


def sum_inputs(d: int) -> Sum:
    return Sum(np.linspace(0.05, 0.15, 10), draws("deltas", d).standard_normal((10, d), np.float32))


def step_inputs(d: int) -> Step:
    x, m, v, vhat, g = draws("moments", d).standard_normal((5, d), np.float32)
    return Step(x, m, v * v, vhat * vhat, g)


def sum_step_inputs(d: int) -> SumStep:
    return SumStep(sum_inputs(d), step_inputs(d))


# ---- ours ----


def ours_sum(given: Sum) -> Ready:
    from fedbench.kernels.accumulate import weighted_sum_norm

    out = np.empty_like(given.deltas[0])
    return Ready(
        lambda: weighted_sum_norm(given.weights, given.deltas, out=out),
        lambda result: {"sum": result[0], "norm2": result[1]},
    )


def ours_amsgrad(given: Step) -> Ready:
    x, m, v, vhat = (a.copy() for a in given[:4])
    rule = k.AdamRule(RATE)
    return Ready(lambda: k.adaptive_step(x, m, v, vhat, given.g, rule), lambda _: {"x": x, "m": m, "v": v, "vhat": vhat})


def ours_clip_adam(given: Step) -> Ready:
    x, m, v = (a.copy() for a in given[:3])
    rule = k.AdamRule(RATE)
    return Ready(lambda: k.clip_adam(x, m, v, given.g, rule, CLIP), lambda result: {"x": x, "m": m, "v": v, "norm": result[0]})


def ours_sum_amsgrad(given: SumStep) -> Ready:
    x, m, v, vhat = (a.copy() for a in given.step[:4])
    rule = k.AdamRule(RATE)
    return Ready(
        lambda: k.sum_adaptive_step(x, m, v, vhat, *given.sum, rule),
        lambda _: {"x": x, "m": m, "v": v, "vhat": vhat},
    )


def second_rule(second: Second) -> k.AdamRule:
    return k.AdamRule(RATE, epsilon=SERVER_EPSILON, bias_correction=False, second=second)


NO_ADAM: tuple[Second, ...] = ("yogi", "adagrad")
"""The other rules of the second moment."""


def ours_sum_second(second: Second) -> Callable[[SumStep], Ready]:
    """Returns the start of a server step with this rule of the second moment."""

    def start(given: SumStep) -> Ready:
        (x, m, v), rule = (a.copy() for a in given.step[:3]), second_rule(second)
        return Ready(
            lambda: k.sum_adaptive_step(x, m, v, None, *given.sum, rule, use_maximum=False),
            lambda _: {"x": x, "m": m, "v": v},
        )

    return start


# ---- the truth, in float64 ----


def total_of(given: Sum) -> Doubles:
    total = np.zeros(given.deltas.shape[1])
    for weight, delta in zip(given.weights, given.deltas, strict=True):
        total += weight * delta
    return total


def true_sum(given: Sum) -> Outcome:
    total = total_of(given)
    rows, bits = given.deltas.sum(axis=1, dtype=np.float64), np.bitwise_xor.reduce(given.deltas.view(np.uint32), axis=None)
    return {"sum": total, "norm2": float(total @ total), "rows": rows, "bits": bits}


def true_step(x: Singles, moments: Sequence[Singles], g: Singles | Doubles, rule: k.AdamRule) -> Outcome:
    """Returns a step of Adam, or of AMSGrad if there is a vhat."""
    x0, g0, *doubles = (a.astype(np.float64) for a in (x, g, *moments))
    new_x, new = adaptive(x0, tuple(doubles), g0, rule, use_maximum=len(moments) == 3)
    return dict(zip(("x", "m", "v", "vhat"), (new_x, *new), strict=False))


def true_amsgrad(given: Step) -> Outcome:
    return true_step(given.x, given[1:4], given.g, k.AdamRule(RATE))


def true_clip_adam(given: Step) -> Outcome:
    g = given.g.astype(np.float64)
    norm = float(np.sqrt(g @ g))
    return {"norm": norm, **true_step(given.x, given[1:3], min(1.0, CLIP / norm) * g, k.AdamRule(-RATE))}


def true_sum_amsgrad(given: SumStep) -> Outcome:
    return true_step(given.step.x, given.step[1:4], total_of(given.sum), k.AdamRule(RATE))


def true_sum_second(second: Second) -> Callable[[SumStep], Outcome]:
    def truth(given: SumStep) -> Outcome:
        return true_step(given.step.x, given.step[1:3], total_of(given.sum), second_rule(second))

    return truth


# ---- how fast ten deltas can be read ----


def read_in_cpp(given: Sum) -> Ready:
    from fedbench.kernels.probe import read_rows

    return Ready(lambda: read_rows(given.deltas), lambda bits: {"bits": np.uint32(bits)})


def read_in_numpy(given: Sum) -> Ready:
    rows = [row.view(np.uint32) for row in given.deltas]
    return Ready(
        lambda: [np.bitwise_xor.reduce(row) for row in rows],
        lambda bits: {"bits": np.bitwise_xor.reduce(bits)},
    )


READERS = (
    Way("read-cpp", read_in_cpp, ("fedbench.kernels.probe:read_rows",), limit=True),
    Way("read-numpy", read_in_numpy, limit=True),
    Way("read-torch", torches.read, TORCH, limit=True),
)


def server_case(
    name: str, inputs: Callable[[int], Given], ours: Way[Given], reference: Callable[[Given], Outcome], *versus: Way[Given]
) -> Case[int, Given]:
    """Returns a case of vectors of D elements, whose ways must agree with the float64 truth."""
    return Case(
        name=name,
        group="server",
        size=D,
        small=SMALL,
        inputs=inputs,
        ours=ours,
        versus=versus,
        reference=reference,
        tolerance=1e-5,  # float32 against float64, of the largest value
    )


def our_way(start: Callable[[Given], Ready], kernel: str) -> Way[Given]:
    """Returns our way, which needs a kernel, given as `module:function`."""
    return Way("fedbench", start, (kernel,))


CASES = (
    server_case(
        "sum10-11m",
        sum_inputs,
        our_way(ours_sum, "fedbench.kernels.accumulate:weighted_sum_norm"),
        true_sum,
        Way("state-dict", torches.sum_state_dicts, TORCH),
        Way("flat-add", torches.sum_flat, TORCH),
        *READERS,
    ),
    server_case(
        "amsgrad-11m",
        step_inputs,
        our_way(ours_amsgrad, "fedbench.kernels.optimise:adaptive_step"),
        true_amsgrad,
        Way("torch-eager", torches.amsgrad_eager, TORCH),
        Way("torch-foreach", torches.amsgrad("foreach"), TORCH),
        Way("torch-fused", torches.amsgrad("fused"), TORCH),
    ),
    server_case(
        "clip-adam-11m",
        step_inputs,
        our_way(ours_clip_adam, "fedbench.kernels.optimise:clip_adam"),
        true_clip_adam,
        # clip_grad_norm_ sums 11 million squares in float32: its norm is off by 4e-4.
        Way("torch-eager", torches.clip_adam_eager, TORCH, tolerance=1e-3),
        Way("torch-foreach", torches.clip_adam("foreach"), TORCH, tolerance=1e-3),
        Way("torch-fused", torches.clip_adam("fused"), TORCH, tolerance=1e-3),
    ),
    server_case(
        "sum10-amsgrad-11m",
        sum_step_inputs,
        our_way(ours_sum_amsgrad, "fedbench.kernels.optimise:sum_adaptive_step"),
        true_sum_amsgrad,
        Way("torch-eager", torches.sum_amsgrad_eager, TORCH),
    ),
    *(
        server_case(
            f"sum10-{second}-11m",
            sum_step_inputs,
            our_way(ours_sum_second(second), "fedbench.kernels.optimise:Second"),
            true_sum_second(second),
            Way("torch-eager", torches.sum_second_eager(second), TORCH),
        )
        for second in NO_ADAM
    ),
)
