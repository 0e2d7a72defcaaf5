"""The rows of an embedding for models side by side: the gradient of each depends on that model
alone."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

ELEMENTS = 1 << 22
"""The most elements that a model's marks have at a time: 16 MiB in float32, and so 256 MiB for 16
models."""


class Rows(torch.autograd.Function):
    """Takes rows of a weight (symbols, width) by their indices, of any shape, as F.embedding does,
    and bit for bit.

    The gradient of F.embedding under vmap is one list of all models' indices, which a GPU adds in
    parts that begin anywhere in it: a model's bits would depend on its place in the stack. Here it
    is a product with marks (indices, symbols), 1 where an index is the symbol and 0 elsewhere,
    which vmap makes a batched product like that of a linear layer. The marks are made for so many
    indices at a time that they have at most ELEMENTS elements, or those of one index.

    A slope that is not finite reaches the rows of all symbols, not its own alone: 0 times it is
    NaN. Such a model has diverged in either case.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(weight: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        return F.embedding(indices, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, torch.Tensor], output: torch.Tensor) -> None:
        weight, indices = inputs
        ctx.save_for_backward(indices)
        ctx.symbols = len(weight)

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> tuple[torch.Tensor, None]:
        (indices,) = ctx.saved_tensors
        rows, size = slopes[0].reshape(-1, slopes[0].shape[-1]), max(1, ELEMENTS // ctx.symbols)
        symbols = torch.arange(ctx.symbols, device=indices.device)
        total = rows.new_zeros(ctx.symbols, rows.shape[1])
        for i, part in zip(torch.split(indices.flatten(), size), torch.split(rows, size), strict=True):
            total = total + (i[:, None] == symbols).to(part.dtype).T @ part
        return total, None


def gather(indices: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Does what F.embedding does, with the gradient of Rows."""
    rows: torch.Tensor = Rows.apply(weight, indices)
    return rows
