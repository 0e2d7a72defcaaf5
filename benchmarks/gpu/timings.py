"""Times of the server's kernels, beside what the memory allows and beside torch.

A floor is the bytes of a call, each read or written once, over the bandwidth of a large copy. The
tables say what share of it a call reaches.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional

from benchmarks.gpu.card import DEVICE, Call, call_seconds, device_seconds, kernels, micro, random, rivals
from benchmarks.gpu.rows import DRY, row
from fedbench.kernels import AdamRule

SIZES = [(97, 3)] if DRY else [(21_840, 10), (21_840, 100), (1_000_000, 10)]
GRIDS = [(3, 10)] if DRY else [(2000, 10), (1000, 100), (64, 30_000)]
RULE = AdamRule(0.01, 0.9, 0.99, 1e-8)
FLOAT = 4  # bytes


def bandwidth() -> float:
    """Returns the bytes a second of a copy of one gigabyte, read and written."""
    source = random(1 << (10 if DRY else 28))
    target = torch.empty_like(source)
    found = 2 * FLOAT * source.numel() / device_seconds(lambda: target.copy_(source), 10)
    row("timings", "copy", f"{found / 1e12:.2f} TB/s")
    return found


def timed(what: str, floor_seconds: float, ours: Call, others: dict[str, Call]) -> None:
    among, alone = device_seconds(ours), call_seconds(ours)
    share = f"{micro(floor_seconds)}, {100 * floor_seconds / among:.0f} % reached"
    row("timings", what, f"{micro(among)}, alone {micro(alone)}", share, rivals(what, others))


@functools.cache
def compiled(function: Callable[..., object]) -> dict[str, Callable[..., object]]:
    """Returns the function as torch.compile makes it, where there is a card for it. It is compiled
    for the first size, and once more for all others."""
    return {} if DRY else {"compiled": torch.compile(function)}


def amsgrad(state: list[torch.Tensor], direction: torch.Tensor) -> None:
    x, m, v, largest = state
    m.mul_(0.9).add_(direction, alpha=0.1)
    v.mul_(0.99).addcmul_(direction, direction, value=0.01)
    torch.maximum(largest, v, out=largest)
    x.addcdiv_(m, largest.sqrt().add_(1e-8), value=0.01)


def both(state: list[torch.Tensor], factors: torch.Tensor, vectors: torch.Tensor) -> None:
    amsgrad(state, factors @ vectors)


def server(d: int, count: int, floor: Callable[[int], float]) -> None:
    """The buffered sum, the AMSGrad step, and both in one pass, which is the server step; and that
    again with a norm for which the host waits."""
    cuda, later, given = kernels()
    vectors, out, state = random(count, d), random(d), [random(d), random(d), random(d).abs(), random(d).abs()]
    weights, at = np.full(count, 1 / count), f", d = {d:,}"
    factors = torch.full((count,), 1 / count, device=DEVICE)
    handed, to, mine = given(vectors), given(out), [given(part) for part in state]

    timed(
        f"buffered sum of {count}{at}",
        floor(d * (count + 1)),
        lambda: later.weighted_sum(weights, handed, out=to),
        {"eager": lambda: torch.mv(vectors.T, factors, out=out)},
    )
    timed(
        f"AMSGrad step{at}",
        floor(9 * d),
        lambda: later.adaptive_step(*mine, to, RULE),
        {name: lambda f=f: f(state, out) for name, f in {"eager": amsgrad, **compiled(amsgrad)}.items()},
    )
    timed(
        f"server step of {count}{at}",
        floor(d * (count + 8)),
        lambda: later.sum_adaptive_step(*mine, weights, handed, RULE),
        {name: lambda f=f: f(state, factors, vectors) for name, f in {"eager": both, **compiled(both)}.items()},
    )
    timed(
        f"the same, and the host waits{at}",
        floor(d * (count + 8)),
        lambda: cuda.sum_adaptive_step(*mine, weights, handed, RULE),
        {},
    )


def clipped(d: int, floor: Callable[[int], float]) -> None:
    _, later, given = kernels()
    x, m, v, g = random(d), random(d), random(d).abs(), random(d)
    parameter = torch.nn.Parameter(x.clone())
    parameter.grad = g
    kinds = {} if DRY else {kind: torch.optim.Adam([parameter], 1e-3, **{kind: True}) for kind in ("foreach", "fused")}

    def theirs(optimiser: torch.optim.Adam) -> None:
        torch.nn.utils.clip_grad_norm_([parameter], 5.0)
        optimiser.step()

    timed(
        f"clipped Adam step, d = {d:,}",
        floor(8 * d),
        lambda: later.clip_adam(given(x), given(m), given(v), given(g), RULE, 5.0),
        {name: lambda o=o: theirs(o) for name, o in kinds.items()},
    )


def slope(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """Returns the gradient of the distillation loss."""
    p, q, classes = teacher.softmax(1), student.softmax(1), student.shape[1]
    entropy = -(p * teacher.log_softmax(1)).sum(1)
    alpha = entropy.mean() / math.log(classes) * 0.6 + 0.2
    return (q - alpha * p - (1 - alpha) * functional.one_hot(teacher.argmax(1), classes)) / len(student)


def distillation(rows: int, classes: int, floor: Callable[[int], float]) -> None:
    _, later, given = kernels()
    student, teacher = random(rows, classes), random(rows, classes)
    s, t, out = given(student), given(teacher), given(torch.empty_like(student))
    timed(
        f"distillation, {rows:,} x {classes:,}",
        floor(3 * rows * classes),
        lambda: later.distill_gradient(s, t, 0.2, 0.8, out=out),
        {name: lambda f=f: f(student, teacher) for name, f in {"eager": slope, **compiled(slope)}.items()},
    )


def main() -> None:
    torch.manual_seed(1)
    bytes_a_second = bandwidth()

    def floor(elements: int) -> float:
        return FLOAT * elements / bytes_a_second

    for d, count in SIZES:
        server(d, count, floor)
    for d in sorted({d for d, _ in SIZES}):
        clipped(d, floor)
    for rows, classes in GRIDS:
        distillation(rows, classes, floor)


if __name__ == "__main__":
    main()
