"""Numerical kernels: checked front doors to the C++ core, and the shared mathematics of server rules.

Works without torch. Everything that reduces over model vectors goes through here, in arrival order, with stated rounding.
"""

from fedbench.kernels.accumulate import dot, mean, norm, total, weighted_sum
from fedbench.kernels.build import build_info
from fedbench.kernels.server import cosine, moments, participation_weights, staleness_weight, weights

__all__ = [
    "build_info",
    "cosine",
    "dot",
    "mean",
    "moments",
    "norm",
    "participation_weights",
    "staleness_weight",
    "total",
    "weighted_sum",
    "weights",
]
