"""Cases of loss and gradient of distillation on logits, beside torch's autograd. Arrays are float32
and are used again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedbench import kernels as k
from fedbench.bench import truth
from fedbench.bench.case import Case, Outcome, Ready, Singles, Way, draws

if TYPE_CHECKING:
    from torch import Tensor

ALPHA_MIN, ALPHA_MAX = 0.2, 0.8


def inputs(size: tuple[int, int]) -> Singles:
    """Returns the logits of student and teacher (B, C)."""
    return 3 * draws("distill", *size).standard_normal((2, *size), np.float32)


def ours(logits: Singles) -> Ready:
    student, teacher = logits
    grad = np.empty_like(student)
    return Ready(
        lambda: k.distill_gradient(student, teacher, ALPHA_MIN, ALPHA_MAX, out=grad), lambda gradient: {"grad": gradient}
    )


def with_autograd(logits: Singles) -> Ready:
    """Computes the equations in eager torch, and differentiates them with respect to the student's
    logits."""
    import torch
    from torch.nn import functional

    student, teacher = (torch.from_numpy(a) for a in logits)
    student = student.clone().requires_grad_(True)

    def act() -> tuple[Tensor, Tensor]:
        log_p, log_q = torch.log_softmax(teacher, 1), torch.log_softmax(student, 1)
        p = log_p.exp()
        relative = -(p * log_p).sum(1).mean() / float(np.log(student.shape[1]))
        alpha = relative * ALPHA_MAX + (1 - relative) * ALPHA_MIN
        hard = functional.nll_loss(log_q, teacher.argmax(1), reduction="none")
        loss = (alpha * (p * (log_p - log_q)).sum(1) + (1 - alpha) * hard).mean()
        (grad,) = torch.autograd.grad(loss, student)
        return loss.detach(), grad

    return Ready(act, lambda result: {"loss": result[0].numpy(), "grad": result[1].numpy()})


def reference(logits: Singles) -> Outcome:
    student, teacher = logits
    return truth.distill(student, teacher, ALPHA_MIN, ALPHA_MAX)


def _case(rows: int, classes: int) -> Case[tuple[int, int], Singles]:
    return Case(
        name=f"distill-{rows}x{classes}",
        group="distill",
        size=(rows, classes),
        small=(min(rows, 16), min(classes, 100)),
        inputs=inputs,
        ours=Way("fedbench", ours, ("fedbench.kernels:distill_gradient",)),
        versus=(Way("torch-autograd", with_autograd, ("torch",)),),
        reference=reference,
        tolerance=1e-5,  # of the largest value; torch's own float32 gradient is off by 1e-6 at C = 30000
    )


CASES = tuple(_case(*size) for size in ((64, 10), (128, 100), (2000, 10), (64, 30_000)))
