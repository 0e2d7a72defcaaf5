"""Numerical kernels: checked front doors to the C++ core, and the shared mathematics of server rules.

Works without torch. Everything that reduces over model vectors goes through here, in arrival order, with stated rounding.
"""

from fedbench.kernels.accumulate import dot, mean, norm, total, weighted_sum
from fedbench.kernels.build import build_info
from fedbench.kernels.distill import Distilled, DistillGradient, TeacherMean, distill, distill_gradient, softmax
from fedbench.kernels.optimise import AdamRule, adaptive_step, clip_adam, clip_sgd, sum_adaptive_step
from fedbench.kernels.server import cosine, moments, participation_weights, staleness_weight, weights

__all__ = [
    "AdamRule",
    "DistillGradient",
    "Distilled",
    "TeacherMean",
    "adaptive_step",
    "build_info",
    "clip_adam",
    "clip_sgd",
    "cosine",
    "distill",
    "distill_gradient",
    "dot",
    "mean",
    "moments",
    "norm",
    "participation_weights",
    "softmax",
    "staleness_weight",
    "sum_adaptive_step",
    "total",
    "weighted_sum",
    "weights",
]
