"""Tells which modules of torch are layers of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from fedbench.tasks.layers import AvgPool2d, BatchNorm2d, Conv2d, Dropout, Dropout2d, Flatten, Layer, Linear, MaxPool2d, ReLU

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
OF_A_CLASS = {"__init__", "__module__", "__doc__", "__qualname__", "__annotations__", "__firstlineno__", "__static_attributes__"}
"""What a class may define that is a Sequential like any other."""


def layers_of(module: nn.Module) -> tuple[Layer, ...]:
    """Returns the layers of a Sequential, in which others may be nested, if it computes what they
    compute. ValueError, which says why, if it does not."""
    found = list(_leaves(module, ""))
    several = [id(tensor) for _, leaf in found for tensor in leaf.parameters()]
    if len(set(several)) < len(several):
        raise ValueError("a layer is used twice, or two share a parameter")
    return tuple(layer for name, leaf in found if (layer := _layer(leaf, name)) is not None)


def _leaves(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    """Yields the modules in Sequentials, in order, with their names."""
    own = (
        {key for cls in type(module).__mro__[: type(module).__mro__.index(nn.Sequential)] for key in vars(cls)}
        if (isinstance(module, nn.Sequential))
        else {""}
    )
    if not own <= OF_A_CLASS or module._parameters or module._buffers or _is_changed(module):
        raise ValueError(f"{name or 'it'} is a {type(module).__name__}, and no plain nn.Sequential")
    for key, child in module._modules.items():
        assert child is not None
        path = f"{name}.{key}" if name else key
        if isinstance(child, nn.Sequential):
            yield from _leaves(child, path)
        else:
            yield path, child


def _is_changed(module: nn.Module) -> bool:
    """Returns whether an object does something else than its class says."""
    return "forward" in vars(module) or any(getattr(module, hooks) for hooks in HOOKS)


def _layer(module: nn.Module, name: str) -> Layer | None:
    """Returns the layer of a module; None for an Identity."""
    if type(module) is nn.Identity and not _is_changed(module):
        return None
    known = KNOWN.get(type(module))
    found = None if known is None or _is_changed(module) else known(module)
    if found is None or not _has_tensors_of(found, module):
        raise ValueError(f"layer {name}, {module}, is none of the library's".replace("\n", " "))
    return found


def _has_tensors_of(layer: Layer, module: nn.Module) -> bool:
    """Returns whether a module has the tensors of a layer and no others, and trains all of its
    parameters."""
    parameters, buffers = dict(module.named_parameters(recurse=False)), dict(module.named_buffers(recurse=False))
    buffers.pop("num_batches_tracked", None)
    theirs = [(key, tuple(one.shape)) for key, one in (*parameters.items(), *buffers.items())]
    ours = [(one.name, one.shape) for one in (*layer.tensors(), *layer.buffers())]
    is_real = all(one.dtype == torch.float32 for one in (*parameters.values(), *buffers.values()))
    return theirs == ours and is_real and all(one.requires_grad for one in parameters.values())


def _square(*sizes: Any) -> list[int] | None:
    """Returns sizes that may be pairs as whole numbers; None if a pair has two sizes."""
    pairs = [(one, one) if isinstance(one, int) else one for one in sizes]
    return [one[0] for one in pairs] if all(len(one) == 2 and one[0] == one[1] for one in pairs) else None


def _conv2d(m: nn.Conv2d) -> Layer | None:
    sizes = None if isinstance(m.padding, str) else _square(m.kernel_size, m.stride, m.padding)
    if sizes is None or m.dilation != (1, 1) or m.groups != 1 or m.padding_mode != "zeros":
        return None
    kernel, stride, padding = sizes
    return Conv2d(m.in_channels, m.out_channels, kernel, stride, padding, bias=m.bias is not None)


def _max_pool2d(m: nn.MaxPool2d) -> Layer | None:
    sizes = _square(m.kernel_size, m.stride, m.padding, m.dilation)
    is_plain = sizes is not None and sizes[1:] == [sizes[0], 0, 1] and not m.ceil_mode and not m.return_indices
    return MaxPool2d(sizes[0]) if sizes is not None and is_plain else None


def _avg_pool2d(m: nn.AvgPool2d) -> Layer | None:
    sizes = _square(m.kernel_size, m.stride, m.padding)
    is_plain = sizes is not None and sizes[1:] == [sizes[0], 0] and not m.ceil_mode and m.divisor_override is None
    return AvgPool2d(sizes[0]) if sizes is not None and is_plain else None


def _batch_norm2d(m: nn.BatchNorm2d) -> Layer | None:
    is_plain = (m.momentum, m.eps, m.affine, m.track_running_stats) == (0.1, 1e-5, True, True)
    return BatchNorm2d(m.num_features) if is_plain else None


KNOWN: dict[type[nn.Module], Callable[[Any], Layer | None]] = {
    nn.Linear: lambda m: Linear(m.in_features, m.out_features),
    nn.Conv2d: _conv2d,
    nn.MaxPool2d: _max_pool2d,
    nn.AvgPool2d: _avg_pool2d,
    nn.BatchNorm2d: _batch_norm2d,
    nn.ReLU: lambda m: ReLU(),
    nn.Flatten: lambda m: Flatten() if (m.start_dim, m.end_dim) == (1, -1) else None,
    nn.Dropout: lambda m: Dropout(m.p) if 0 <= m.p < 1 else None,
    nn.Dropout2d: lambda m: Dropout2d(m.p) if 0 <= m.p < 1 else None,
}
"""Modules of exactly these types, and the layers that they are; None for what a layer has not."""


def with_default_values(layers: tuple[Layer, ...]) -> nn.Sequential:
    """Returns the layers that have parameters as torch makes them, in order."""
    made: list[nn.Module] = []
    for layer in layers:
        match layer:
            case Linear(inputs, outputs):
                made.append(nn.Linear(inputs, outputs))
            case Conv2d(inputs, outputs, kernel, stride, padding, bias):
                made.append(nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=bias))
            case BatchNorm2d(channels):
                made.append(nn.BatchNorm2d(channels))
    return nn.Sequential(*made)
