"""What benchmarks compare results with: distillation and adaptive steps in numpy.

The C++ must be equal to the steps bit for bit. `distill` computes in float64, and the C++ agrees
with it to the accuracy of the dtype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fedbench.bench.case import Doubles, Outcome
    from fedbench.kernels.optimise import AdamRule
    from fedbench.types import Vector


def log_softmax(logits: Doubles) -> Doubles:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def distill(student: Vector, teacher: Vector, alpha_min: float, alpha_max: float, kind: str = "logits") -> Outcome:
    """Returns every output in float64, by its name in `fedbench.kernels.distill.Distilled`."""
    s, t = np.asarray(student, np.float64), np.asarray(teacher, np.float64)
    rows, classes = s.shape
    label = t.argmax(axis=1)
    with np.errstate(divide="ignore"):
        log_p = log_softmax(t) if kind == "logits" else np.log(t)
    p = np.exp(log_p) if kind == "logits" else t
    log_p, log_q = np.where(p > 0, log_p, 0), log_softmax(s)
    entropy = -(p * log_p).sum(axis=1)
    relative = entropy.mean() / np.log(classes)
    alpha = relative * alpha_max + (1 - relative) * alpha_min
    kl, ce = (p * (log_p - log_q)).sum(axis=1), -log_q[np.arange(rows), label]
    grad = (np.exp(log_q) - alpha * p - (1 - alpha) * (np.arange(classes) == label[:, None])) / rows
    loss = (alpha * kl + (1 - alpha) * ce).mean()
    names = ("loss", "relative_entropy", "alpha", "grad", "probabilities", "label", "entropy", "kl", "ce")
    return dict(zip(names, (loss, relative, alpha, grad, p, label, entropy, kl, ce), strict=True))


def _power(base: float, exponent: int) -> float:
    result = 1.0
    while exponent:
        if exponent & 1:
            result *= base
        base, exponent = base * base, exponent >> 1
    return result


def _second(v: Vector, g: Vector, rule: AdamRule) -> Vector:
    """Returns the new second moment."""
    if rule.second == "adam":
        return rule.beta2 * v + (1 - rule.beta2) * g * g
    if rule.second == "adagrad":
        return v + g * g
    return v - (1 - rule.beta2) * (g * g) * np.sign(v - g * g)


def adaptive(
    x: Vector, moments: tuple[Vector, ...], g: Vector, rule: AdamRule, use_maximum: bool
) -> tuple[Vector, tuple[Vector, ...]]:
    """Returns the new x and the new moments, which are (m, v) or (m, v, vhat)."""
    m = rule.beta1 * moments[0] + (1 - rule.beta1) * g
    v = _second(moments[1], g, rule)
    new = (m, v, *(np.maximum(vhat, v) for vhat in moments[2:]))
    u = new[2] if use_maximum else v
    first = 1 - _power(rule.beta1, rule.step) if rule.bias_correction else 1.0
    second = 1 - _power(rule.beta2, rule.step) if rule.bias_correction else 1.0
    root = float(1 / np.sqrt(np.float64(second)))
    used = rule.beta1 * m + (1 - rule.beta1) * g if rule.ahead else m
    return x + (rule.rate / first * used) / (np.sqrt(u) * root + rule.epsilon), new
