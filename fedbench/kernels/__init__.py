"""Numerical kernels: checked front doors to the C++ core, and the shared mathematics of server
rules.

Works without torch. Everything that reduces over model vectors goes through here, in arrival order,
with stated rounding.

NaN and infinity. Vectors, logits and the weights of a sum may hold them: they propagate as IEEE
arithmetic has it, an element stays in its place, a weight of 0 does not hide one, and every
instruction set gives NaN in the same places and the same bits elsewhere (the sign and payload of a
NaN mean nothing). A norm spreads them: clipping by a norm that is NaN makes all of x NaN. The
engine stops a run whose model is not finite as diverged. Refused with a ValueError are settings
that are not finite (rates, betas, epsilon, alphas, a, b; a clip of infinity is no clip), staleness,
shares n and p, and the logits of a TeacherMean, where they would stay for ever. The scheduler
refuses durations, budgets and probabilities that are not finite with a UsageError.
"""

from fedbench.kernels.accumulate import dot, mean, movement, norm, weighted_sum
from fedbench.kernels.build import build_info
from fedbench.kernels.cache import calibrated_mean, newest_mean
from fedbench.kernels.distill import Distilled, DistillGradient, TeacherMean, distill, distill_gradient, softmax
from fedbench.kernels.optimise import AdamRule, adaptive_step, clip_adam, clip_sgd, sum_adaptive_step
from fedbench.kernels.scheduler import route
from fedbench.kernels.server import direction_cosine, participation_weights, staleness_weight, weights

__all__ = [
    "AdamRule",
    "DistillGradient",
    "Distilled",
    "TeacherMean",
    "adaptive_step",
    "build_info",
    "calibrated_mean",
    "clip_adam",
    "clip_sgd",
    "direction_cosine",
    "distill",
    "distill_gradient",
    "dot",
    "mean",
    "movement",
    "newest_mean",
    "norm",
    "participation_weights",
    "route",
    "softmax",
    "staleness_weight",
    "sum_adaptive_step",
    "weighted_sum",
    "weights",
]
