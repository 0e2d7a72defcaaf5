"""Low-rank updates of a linear map, as in LoRA: y = W x + bias + (alpha / r) B A x, with W and bias
frozen.

A (r, inputs) is drawn and B (outputs, r) starts at 0, so training starts at the pretrained
function. alpha = 2 r, so the factor of the update is 2, whatever the rank. This module replaces
peft for four reasons: it is short; its initial values come from our streams and not from torch's
generator; the flat vector needs the order of its tensors; and peft would bring further packages.

Source: Hu et al. 2022, arXiv:2106.09685, section 4.1: query and value are adapted. A is drawn by
their code's kaiming_uniform(sqrt 5), which is U(-1 / sqrt(inputs), 1 / sqrt(inputs)). The dropout
of their code is left out.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

FACTOR = 2.0
"""alpha / r."""


class LowRank(nn.Module):
    """Maps (.., inputs) to (.., outputs): the linear map `base`, whose tensors stay frozen, plus
    the low-rank update."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.weight, self.bias = base.weight, base.bias
        self.a = nn.Parameter(base.weight.new_empty(rank, base.in_features))
        self.b = nn.Parameter(base.weight.new_empty(base.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight, self.bias) + F.linear(F.linear(x, self.a), self.b) * FACTOR


def adapt(network: nn.Module, names: tuple[str, ...], rank: int) -> None:
    """Replaces every linear map that has one of these names by one with a low-rank update."""
    for owner in list(network.modules()):
        for name, child in list(owner.named_children()):
            if name in names and isinstance(child, nn.Linear):
                setattr(owner, name, LowRank(child, rank))
