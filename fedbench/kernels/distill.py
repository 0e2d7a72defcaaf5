"""Uncertainty-aware distillation on logits.

The kernels know no model: they take the student's logits and return the gradient with respect to
them. Arrays are plain numpy arrays, float32 or float64, C-contiguous, of one dtype. Nothing is cast
silently. csrc/include/fedbench/distill.hpp states the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from fedbench import _core
from fedbench.kernels import checks

Logits = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]
TeacherKind = Literal["logits", "probabilities"]


@dataclass(frozen=True)
class Distilled:
    """The result of `distill`, for B rows and C classes.

    The arrays belong to the caller, who may pass them as `out` to a later call.

    Attributes
    ----------
    loss : float
        mean_u alpha KL_u + (1 - alpha) CE_u.
    relative_entropy : float
        Hhat = mean(H) / log C.
    alpha : float
        Hhat alpha_max + (1 - Hhat) alpha_min.
    grad : array (B, C)
        d loss / d student.
    probabilities : array (B, C)
        P, the teacher's probabilities.
    label : int64 array (B,)
        The argmax of the teacher.
    entropy : float64 array (B,)
        H, the entropy of P.
    kl : float64 array (B,)
        KL(P || softmax(student)).
    ce : float64 array (B,)
        -log softmax(student)[label].
    """

    loss: float  # mean_u alpha KL_u + (1 - alpha) CE_u
    relative_entropy: float  # Hhat = mean(H) / log C
    alpha: float  # Hhat alpha_max + (1 - Hhat) alpha_min
    grad: Logits  # (B, C): d loss / d student
    probabilities: Logits  # (B, C): P
    label: npt.NDArray[np.int64]  # (B,): argmax of the teacher
    entropy: Doubles  # (B,): H
    kl: Doubles  # (B,): KL(P || softmax(student))
    ce: Doubles  # (B,): -log softmax(student)[label]


Arrays = tuple[Logits, Logits, npt.NDArray[np.int64], Doubles, Doubles, Doubles]


def distill(
    student: Logits,
    teacher: Logits,
    alpha_min: float,
    alpha_max: float,
    *,
    kind: TeacherKind = "logits",
    out: Distilled | None = None,
    isa: str = "",
) -> Distilled:
    """Returns loss and gradient of one batch, and values of every row [FedEcho, Alg. 1, lines
    14-19].

        P = softmax(teacher), H_u = -sum_c P log P, Hhat = mean(H) / log C
        alpha = Hhat alpha_max + (1 - Hhat) alpha_min
        loss = mean_u alpha KL(P_u || softmax(student_u)) + (1 - alpha) CE(student_u, argmax
        teacher_u)
        grad = (softmax(student) - alpha P - (1 - alpha) onehot(label)) / B

    Ties of the argmax go to the lowest class. A logit of the student that is not finite makes its
    row NaN, and one of the teacher makes the whole result NaN.

    Parameters
    ----------
    student : array (B, C)
        The student's logits, float32 or float64, B >= 1, C >= 2.
    teacher : array (B, C)
        The teacher's logits, of the same dtype.
    alpha_min : float
        alpha for a teacher that is sure.
    alpha_max : float
        alpha for a teacher that is not sure at all.
    kind : {"logits", "probabilities"}
        With "probabilities" `teacher` is P itself, whose rows sum to 1.
    out : Distilled, optional
        An earlier result whose arrays are used again. They must not overlap the inputs.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Returns
    -------
    Distilled
        The loss, alpha, the gradient and the values of every row.

    Raises
    ------
    TypeError
        An array has a wrong dtype, shape or layout.
    ValueError
        Arrays overlap, the kind is unknown, or there are no rows or only one class.
    """
    device = checks.device_of(student, isa)
    if device is None:
        checks.array("student", student, "(B, C)")
    given = is_given(kind)
    low, high = checks.within("alpha_min", alpha_min, "finite"), checks.within("alpha_max", alpha_max, "finite")
    arrays = _empty(student) if out is None else (out.grad, out.probabilities, out.label, out.entropy, out.kl, out.ce)
    if device is not None:
        return cast(Distilled, device.now.distill(student, teacher, low, high, kind=kind, out=Distilled(0.0, 0.0, 0.0, *arrays)))
    loss, relative, alpha = _core.distill(student, teacher, low, high, arrays, given, isa)
    return Distilled(loss, relative, alpha, *arrays)


def distill_gradient(
    student: Logits,
    teacher: Logits,
    alpha_min: float,
    alpha_max: float,
    *,
    kind: TeacherKind = "logits",
    out: Logits | None = None,
    isa: str = "",
) -> Logits:
    """Returns the gradient of `distill` with the same bits, and nothing else.

    A training step needs no more. Errors and NaN are as in `distill`.

    Parameters
    ----------
    student : array (B, C)
        The student's logits, float32 or float64, B >= 1, C >= 2.
    teacher : array (B, C)
        The teacher's logits, of the same dtype.
    alpha_min : float
        alpha for a teacher that is sure.
    alpha_max : float
        alpha for a teacher that is not sure at all.
    kind : {"logits", "probabilities"}
        With "probabilities" `teacher` is P itself, whose rows sum to 1.
    out : array (B, C), optional
        Receives the gradient. It must not overlap the inputs.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Returns
    -------
    array (B, C)
        d loss / d student.
    """
    device = checks.device_of(student, isa)
    if device is None:
        checks.array("student", student, "(B, C)")
    given = is_given(kind)
    low, high = checks.within("alpha_min", alpha_min, "finite"), checks.within("alpha_max", alpha_max, "finite")
    grad = np.empty_like(student) if out is None else out
    if device is not None:
        device.later.distill_gradient(student, teacher, low, high, kind=kind, out=grad)
    else:
        _core.distill(student, teacher, low, high, (grad,), given, isa)
    return grad


def is_given(kind: str) -> bool:
    """Returns whether the teacher gives probabilities. ValueError for an unknown kind."""
    if kind not in ("logits", "probabilities"):
        raise ValueError(f"kind: expected logits or probabilities, got {kind!r}")
    return kind == "probabilities"


def _empty(student: Logits) -> Arrays:
    entropy, kl, ce = np.empty_like(student, np.float64, shape=(3, len(student)))
    return np.empty_like(student), np.empty_like(student), np.empty_like(student, np.int64, shape=len(student)), entropy, kl, ce


def softmax(logits: Logits, *, isa: str = "") -> Logits:
    """Returns the softmax of every row, with the bits that P has in `distill`.

    Parameters
    ----------
    logits : array (B, C)
        The logits, float32 or float64, B >= 1, C >= 2.
    isa : str
        The instruction set. Empty is the one in use on this machine.

    Returns
    -------
    array (B, C)
        The probabilities, in the dtype of the logits.
    """
    if checks.device_of(logits, isa) is None:
        checks.array("logits", logits, "(B, C)")
    return distill(logits, logits, 1.0, 1.0, isa=isa).probabilities
