"""Numerical kernels: functions that check their arguments and call the C++ core, and mathematics
that several server rules share.

The package works without torch. Everything that sums over model vectors is computed here, in
arrival order and with stated rounding. Arrays that a run has on a GPU go on to
fedbench.kernels.cuda, by the same names and with the same bits.

NaN and infinity. Vectors, logits and the weights of a sum may have them. They propagate by IEEE
arithmetic and stay in their element. A weight of 0 does not hide them. Every instruction set gives
NaN in the same places and the same bits elsewhere; the sign and payload of a NaN mean nothing. A
norm spreads them: clipping by a norm that is NaN makes all of x NaN. The engine stops a run whose
model is not finite as diverged.

A ValueError refuses settings that are not finite (rates, betas, epsilon, alphas, a, b), staleness,
the shares n and p, and the logits of a TeacherMean, in which they would stay for ever. A clip of
infinity is allowed and does not clip. The scheduler refuses durations, budgets and probabilities
that are not finite with a UsageError.
"""

from fedbench.kernels.accumulate import dot, mean, movement, norm, weighted_sum
from fedbench.kernels.build import build_info
from fedbench.kernels.cache import calibrated_mean, newest_mean
from fedbench.kernels.distill import Distilled, distill, distill_gradient, softmax
from fedbench.kernels.optimise import AdamRule, adaptive_step, clip_adam, clip_sgd, rate_for, sum_adaptive_step
from fedbench.kernels.scheduler import route
from fedbench.kernels.server import (
    direction_angle,
    direction_cosine,
    ordered_sum,
    participation_weights,
    power,
    staleness_weight,
    steps_by_speed,
    weights,
)
from fedbench.kernels.teacher import TeacherMean

__all__ = [
    "AdamRule",
    "Distilled",
    "TeacherMean",
    "adaptive_step",
    "build_info",
    "calibrated_mean",
    "clip_adam",
    "clip_sgd",
    "direction_angle",
    "direction_cosine",
    "distill",
    "distill_gradient",
    "dot",
    "mean",
    "movement",
    "newest_mean",
    "norm",
    "ordered_sum",
    "participation_weights",
    "power",
    "rate_for",
    "route",
    "softmax",
    "staleness_weight",
    "steps_by_speed",
    "sum_adaptive_step",
    "weighted_sum",
    "weights",
]
