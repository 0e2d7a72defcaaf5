"""Numerical kernels: checked front doors to the C++ core, and the shared mathematics of server rules.

Works without torch. Everything that reduces over model vectors goes through here, in arrival order, with stated rounding.
"""

from fedbench.kernels.accumulate import dot, mean, movement, norm, total, weighted_sum
from fedbench.kernels.build import build_info
from fedbench.kernels.cache import calibrated_mean, newest_mean
from fedbench.kernels.distill import Distilled, DistillGradient, TeacherMean, distill, distill_gradient, softmax
from fedbench.kernels.optimise import AdamRule, adaptive_step, clip_adam, clip_sgd, sum_adaptive_step
from fedbench.kernels.server import direction_cosine, moments, participation_weights, staleness_weight, weights

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
    "moments",
    "movement",
    "newest_mean",
    "norm",
    "participation_weights",
    "softmax",
    "staleness_weight",
    "sum_adaptive_step",
    "total",
    "weighted_sum",
    "weights",
]
