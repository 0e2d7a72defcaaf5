"""Results against float64, in outputs that begin as NaN. Exits with 1 if one is further away than
float32 explains.

The tests marked gpu compare bits with the CPU at smaller sizes; this is a second opinion, which
shares no line with the kernels.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import torch

from benchmarks.gpu.card import DEVICE, kernels, random
from benchmarks.gpu.rows import DRY, row
from fedbench.bench import truth
from fedbench.kernels import AdamRule
from fedbench.kernels.distill import Distilled

FAR = 1e-5  # relative, in the L2 norm
SIZES = [(97, 3), (4097, 2)] if DRY else [(4097, 3), (21_840, 100), (1_000_003, 10), (5_000_011, 3)]
GRIDS = [(3, 10), (2, 40)] if DRY else [(64, 10), (2000, 10), (1000, 100), (64, 30_000)]


def poison(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.full(shape, -1 if dtype == torch.int64 else math.nan, dtype=dtype, device=DEVICE)


def double(tensor: torch.Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(tensor.detach().double().cpu().numpy())


def apart(got: torch.Tensor, want: object) -> float:
    """Returns the relative distance; NaN if one element is NaN."""
    exact = np.asarray(want, np.float64)
    return float(np.linalg.norm(double(got) - exact) / max(np.linalg.norm(exact), 1e-30))


def sums(d: int, count: int) -> float:
    """Returns the largest distance of a weighted sum, its norm, a dot product and a clipped
    step."""
    cuda, _, given = kernels()
    vectors, out = random(count, d), poison(d)
    weights = np.linspace(-1, 1, count) + 0.1
    _, norm2 = cuda.weighted_sum_norm(weights, given(vectors), out=given(out))
    exact = weights @ double(vectors)
    x, g = random(d), random(d)
    norm = float(np.linalg.norm(double(g)))
    stepped = double(x) - 0.1 / norm * double(g)
    reported, _ = cuda.clip_sgd(given(x), given(g), 0.1, 1.0)
    return max(apart(out, exact), abs(norm2 / (exact @ exact) - 1), abs(reported / norm - 1), apart(x, stepped))


def step(d: int, count: int) -> float:
    """Returns the largest distance of x and its moments after an AMSGrad step."""
    cuda, _, given = kernels()
    vectors, weights, rule = random(count, d), np.full(count, 1 / count), AdamRule(0.01, 0.9, 0.99, 1e-3)
    state = [random(d), random(d), random(d).abs(), random(d).abs()]
    x, m, *second = (double(part) for part in state)
    moved, moments = truth.adaptive(x, (m, *second), weights @ double(vectors), rule, True)
    cuda.sum_adaptive_step(*map(given, state), weights, given(vectors), rule)
    return max(apart(part, want) for part, want in zip(state, (moved, *moments), strict=True))


def distilled(rows: int, classes: int) -> float:
    cuda, _, given = kernels()
    student, teacher = 3 * random(rows, classes), 3 * random(rows, classes)
    grids, columns = [poison(rows, classes) for _ in range(2)], [poison(rows, dtype=torch.float64) for _ in range(3)]
    arrays = [*grids, poison(rows, dtype=torch.int64), *columns]
    out = Distilled(0.0, 0.0, 0.0, *map(given, arrays))
    got = cuda.distill(given(student), given(teacher), 0.2, 0.8, out=out)
    want = truth.distill(student.cpu().numpy(), teacher.cpu().numpy(), 0.2, 0.8)
    names = ("grad", "probabilities", "label", "entropy", "kl", "ce")
    scalars = (abs(getattr(got, name) / np.asarray(want[name]) - 1) for name in ("loss", "alpha"))
    return max(*map(float, scalars), *(apart(array, want[name]) for array, name in zip(arrays, names, strict=True)))


def main() -> int:
    torch.manual_seed(1)
    found = [(f"weighted_sum and clip_sgd, d = {d:,}, K = {k}", sums(d, k)) for d, k in SIZES]
    found += [(f"sum_adaptive_step, d = {d:,}, K = {k}", step(d, k)) for d, k in SIZES]
    found += [(f"distill, {rows:,} x {classes:,}", distilled(rows, classes)) for rows, classes in GRIDS]
    for what, distance in found:
        row("poisoned", what, f"{distance:.1e} from float64", f"at most {FAR:.0e}")
    return int(not all(distance <= FAR for _, distance in found))  # NaN is no distance


if __name__ == "__main__":
    sys.exit(main())
