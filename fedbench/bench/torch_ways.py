"""The cases of server.py as torch programs write them. torch is imported when a way starts, so this
file needs numpy only.

`torch-eager` computes the equations on flat tensors, as a paper's code does. `torch-foreach` and
`torch-fused` are torch.optim.Adam with that option. Optimisers get the case's moments and are at
their first step, as ours are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbench.bench.case import Outcome, Ready, Singles

if TYPE_CHECKING:
    from torch import Tensor

    from fedbench.bench.server import Step, Sum, SumStep
    from fedbench.kernels.optimise import Second
    from fedbench.types import Array

State = dict[str, "Tensor"]

RATE, BETA1, BETA2, EPSILON, CLIP = 1e-3, 0.9, 0.999, 1e-8, 5.0
SERVER_EPSILON = 1e-3  # of FedYogi and FedAdagrad, which have no maximum over a small v
FIRST, ROOT = 1 - BETA1, float(np.sqrt(1 - BETA2))  # bias corrections of the first step
# The numbers of elements of the 62 tensors of a ResNet-18 for CIFAR, in order: a stem, four layers
# of two blocks, a classifier.
_NORM = [[n, n] for n in (64, 128, 256, 512)]
RESNET18 = [1728, *_NORM[0], *4 * [36_864, *_NORM[0]]]
for _n, _pair in zip((128, 256, 512), _NORM[1:], strict=True):
    RESNET18 += [9 * _n * _n // 2, *_pair, 9 * _n * _n, *_pair, _n * _n // 2, *_pair, *2 * [9 * _n * _n, *_pair]]
RESNET18 += [5120, 10]


def cuts(d: int) -> list[tuple[int, int]]:
    """Returns [0, d) in 62 pieces whose sizes are in proportion to the ResNet-18's tensors."""
    ends = np.rint(np.cumsum(RESNET18) * (d / sum(RESNET18))).astype(int).tolist()
    return list(zip([0, *ends], ends, strict=False))


def tensors(arrays: Iterable[Array]) -> list[Tensor]:
    """Returns tensors that share the memory of arrays."""
    import torch

    return [torch.from_numpy(a) for a in arrays]


def read(given: Sum) -> Ready:
    rows = tensors(given.deltas)
    return Ready(lambda: [row.sum() for row in rows], lambda sums: {"rows": np.array([s.item() for s in sums])})


def sum_state_dicts(given: Sum) -> Ready:
    """Sums in the loop over named tensors that most simulators have."""
    import torch

    pieces = cuts(given.deltas.shape[1])
    weights = given.weights.tolist()
    deltas = [{f"tensor{i}": row[a:b] for i, (a, b) in enumerate(pieces)} for row in tensors(given.deltas)]

    def act() -> State:
        total = {name: torch.zeros_like(tensor) for name, tensor in deltas[0].items()}
        for weight, delta in zip(weights, deltas, strict=True):
            for name in total:
                total[name] += weight * delta[name]
        return total

    return Ready(act, lambda total: {"sum": torch.cat(list(total.values())).numpy()})


def sum_flat(given: Sum) -> Ready:
    return Ready(_adder(given), lambda total: {"sum": total.numpy()})


def _adder(given: Sum) -> Callable[[], Tensor]:
    """Returns a function that sums by `total.add_(delta, alpha=w)` for every delta."""
    import torch

    rows, weights = tensors(given.deltas), given.weights.tolist()
    total = torch.empty_like(rows[0])

    def add() -> Tensor:
        total.zero_()
        for weight, row in zip(weights, rows, strict=True):
            total.add_(row, alpha=weight)
        return total

    return add


def _equations(moments: Sequence[Singles], x: Singles, rate: float) -> Callable[[Tensor], State]:
    """Returns one step of Adam, or of AMSGrad if there is a vhat, with bias correction. The
    equations are computed as they are written, so every operation makes a tensor."""
    import torch

    y, m, v, *vhat = tensors((x, *moments))

    def step(g: Tensor) -> State:
        nonlocal y, m, v, vhat
        m = BETA1 * m + (1 - BETA1) * g
        v = BETA2 * v + (1 - BETA2) * g * g
        vhat = [torch.maximum(old, v) for old in vhat]
        u = vhat[0] if vhat else v
        y = y + rate / FIRST * m / (u.sqrt() / ROOT + EPSILON)
        return {"x": y, "m": m, "v": v, **({"vhat": vhat[0]} if vhat else {})}

    return step


def arrays(state: State) -> dict[str, Array]:
    return {name: tensor.numpy() for name, tensor in state.items()}


def amsgrad_eager(given: Step) -> Ready:
    (g,), step = tensors([given.g]), _equations(given[1:4], given.x, RATE)
    return Ready(lambda: step(g), arrays)


def sum_amsgrad_eager(given: SumStep) -> Ready:
    add, step = _adder(given.sum), _equations(given.step[1:4], given.step.x, RATE)
    return Ready(lambda: step(add()), arrays)


def sum_second_eager(second: Second) -> Callable[[SumStep], Ready]:
    """Returns the start of the server step of FedYogi or FedAdagrad, as its equations are
    written."""

    def start(given: SumStep) -> Ready:
        import torch

        add, (x, m, v) = _adder(given.sum), tensors(given.step[:3])

        def act() -> State:
            nonlocal x, m, v
            D = add()
            square = D * D
            m = BETA1 * m + (1 - BETA1) * D
            v = v + square if second == "adagrad" else v - (1 - BETA2) * square * torch.sign(v - square)
            x = x + RATE * m / (v.sqrt() + SERVER_EPSILON)
            return {"x": x, "m": m, "v": v}

        return Ready(act, arrays)

    return start


def clip_adam_eager(given: Step) -> Ready:
    import torch

    (g,), step = tensors([given.g.copy()]), _equations(given[1:3], given.x, -RATE)
    p = torch.empty_like(g, requires_grad=True)
    p.grad = g

    def act() -> State:
        norm = torch.nn.utils.clip_grad_norm_([p], CLIP)
        return {**step(g), "norm": norm}

    return Ready(act, arrays)


Kind = Literal["foreach", "fused"]
_NAMES = {"m": "exp_avg", "v": "exp_avg_sq", "vhat": "max_exp_avg_sq"}


def _adam(kind: Kind, sign: float, moments: tuple[str, ...], clip: bool) -> Callable[[Step], Ready]:
    """Returns the way by torch.optim.Adam, after clip_grad_norm_ with `clip`. torch gets sign x,
    since it subtracts, which gives the same numbers but for the sign."""

    def start(given: Step) -> Ready:
        import torch

        p = torch.from_numpy(sign * given.x).requires_grad_(True)
        p.grad = torch.from_numpy(given.g.copy())
        optimizer = torch.optim.Adam([p], RATE, (BETA1, BETA2), EPSILON, amsgrad="vhat" in moments, **{kind: True})
        state = {_NAMES[name]: torch.from_numpy(getattr(given, name).copy()) for name in moments}
        optimizer.state[p] = {"step": torch.tensor(0.0), **state}

        def act() -> Tensor | None:
            norm = torch.nn.utils.clip_grad_norm_([p], CLIP, foreach=True) if clip else None
            optimizer.step()
            return norm

        def read(norm: Tensor | None) -> Outcome:
            found = {name: optimizer.state[p][_NAMES[name]].numpy() for name in moments}
            return {"x": sign * p.detach().numpy(), **found, **({} if norm is None else {"norm": norm.numpy()})}

        return Ready(act, read)

    return start


def amsgrad(kind: Kind) -> Callable[[Step], Ready]:
    return _adam(kind, -1.0, ("m", "v", "vhat"), clip=False)


def clip_adam(kind: Kind) -> Callable[[Step], Ready]:
    return _adam(kind, 1.0, ("m", "v"), clip=True)
