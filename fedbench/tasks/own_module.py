"""The torch modules that code of the user's makes, prepared for the trainers.

A module is a function of its trained parameters, its buffers and a batch. Dropout layers take their
masks from our own streams, as the library's do. Buffers that are floats and saved in a state_dict
travel with the model; frozen parameters and all other buffers are constants, which are those of the
first seed for every run.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from fedbench.errors import FedbenchError, UsageError
from fedbench.foreign import described
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.own_models import Named
from fedbench.tasks.layers import Dropout, Dropout2d
from fedbench.tasks.models import laid_out
from fedbench.tasks.own_layers import layers_of, with_default_values
from fedbench.tasks.own_model import Description
from fedbench.tasks.tensors import Shape, Tensor
from fedbench.tasks.torch_model import Maskable, Masked, changing_buffers, flatten_buffers, flatten_parameters, trained
from fedbench.types import Vector

Factory = Callable[..., object]
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
DROPOUTS: dict[type[nn.Module], type[Dropout]] = {nn.Dropout: Dropout, nn.Dropout2d: Dropout2d}
EXAMPLES = 2  # of the batch on which a module is tried
KINDS = {
    torch.float32: "F32", torch.bool: "BOOL", torch.int8: "I8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64",
    torch.uint8: "U8", torch.uint16: "U16", torch.uint32: "U32", torch.uint64: "U64",
}  # fmt: skip
"""Types of tensors, as files in the format safetensors name them. All floats of a module are
float32."""


def make_here(code: Named) -> Callable[[str, Shape, int], Here]:
    """Returns what makes the modules of code that the user has named, in this process."""
    return lambda name, shape, classes: Here(code.found(), name, shape, classes)


class OwnModule(Maskable):
    """A module of the user's, which takes batches (b, ..) and gives logits (b, classes)."""

    def __init__(self, net: nn.Module, name: str, classes: int) -> None:
        super().__init__()
        self.net, self.name, self.classes = net, name, classes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = self.net(x.clone())  # it may change what it is given
        if not isinstance(logits, torch.Tensor):
            raise UsageError(f"model {self.name}: forward must give a tensor of logits, got {type(logits).__name__}")
        if logits.shape != (len(x), self.classes) or logits.dtype != x.dtype:
            expected = f"({len(x)}, {self.classes}) in {x.dtype}"
            raise UsageError(
                f"model {self.name}: forward must give logits {expected} for {len(x)} examples, got {tuple(logits.shape)} in {logits.dtype}"
            )
        return logits.contiguous()


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Has torch draw from a generator that depends on a run's seed alone, and puts the old one back
    at the end."""
    high, low = RandomStream(seed, Purpose.parameters, 0, 0).words(2).tolist()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(high << 32 | low)
        yield


class Here:
    """Makes modules in this process. `factory` is called with the shape and the number of classes,
    by name if it has parameters `input_shape` or `classes`, or with nothing if it needs nothing."""

    def __init__(self, factory: Factory, name: str, shape: Shape, classes: int) -> None:
        self.factory, self.name, self.shape, self.classes = factory, name, shape, classes
        self.values = functools.lru_cache(maxsize=2)(self._values)

    def _net(self, seed: int) -> nn.Module:
        """Returns what the factory makes under a seed."""
        place = f"model {self.name}"
        given, named = self._arguments()
        with seeded(seed):
            try:
                net = self.factory(*given, **named)
            except Exception as error:
                why, *code = described(error)
                raise UsageError(
                    f"{place}: cannot be made for examples of shape {self.shape} in {self.classes} classes: {why}", *code
                ) from error
        if not isinstance(net, nn.Module):
            raise UsageError(f"{place}: expected a torch.nn.Module, or a function that returns one, got {type(net).__name__}")
        if lazy := [name for name, parameter in net.named_parameters() if "Uninitialized" in type(parameter).__name__]:
            raise UsageError(f"{place}: parameter {lazy[0]} has no shape before the first batch; name the sizes of its layer")
        return net.to("cpu")

    def _arguments(self) -> tuple[tuple[object, ...], dict[str, object]]:
        known: dict[str, object] = {"input_shape": self.shape, "classes": self.classes}
        try:
            parameters = inspect.signature(self.factory).parameters
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"model {self.name}: expected a class or a function in Python, got {self.factory!r:.80}: {error}"
            ) from None
        named = {key: value for key, value in known.items() if key in parameters}
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        needed = [key for key, one in parameters.items() if one.default is one.empty and one.kind in plain]
        if not named and len(needed) == len(known):
            return tuple(known.values()), {}
        if left := [key for key in needed if key not in named]:
            raise UsageError(
                f"model {self.name}: expected parameters (input_shape, classes) or none, got {', '.join(left)} without a default"
            )
        return (), named

    def _values(self, seed: int) -> tuple[Vector, Vector]:
        return _values(_prepared(self._net(seed), self.name))

    def module(self, dtype: torch.dtype) -> OwnModule:
        return OwnModule(_prepared(self._net(0), self.name), self.name, self.classes).to(dtype)

    def saved(self, x: Vector, buffers: Vector) -> Iterator[tuple[str, str, Shape, bytes]]:
        """Yields the tensors in the module's state_dict at a model: name, kind as KINDS has it,
        shape and bytes. Trained parameters come first, in order, and buffers after them."""
        net = self.module(torch.float32).net
        flatten_parameters(net, torch.from_numpy(x.copy()))
        flatten_buffers(net, torch.from_numpy(buffers.copy()))
        named: dict[str, torch.Tensor] = {name: one for name, one in net.named_parameters() if one.requires_grad}
        travelling = {id(one) for _, _, one in changing_buffers(net)}
        named |= {name: one for name, one in net.named_buffers() if id(one) in travelling}
        for name, one in (named | net.state_dict()).items():
            yield (
                name,
                KINDS[one.dtype],
                tuple(one.shape),
                one.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes(),
            )

    def described(self) -> Description:
        """Returns what the module is. UsageError if it cannot be trained: it has no parameters, or
        its forward pass fails, draws random numbers, or depends on more than its inputs."""
        raw = self._net(0)
        try:
            layers, why = layers_of(raw), ""
        except ValueError as error:
            layers, why = None, str(error)
        with seeded(0):
            defaults = with_default_values(layers or ())
        net = _prepared(raw, self.name)
        values = _values(net)
        again = _values(_prepared(self._net(0), self.name))
        if not _same(values, again):
            raise UsageError(
                f"model {self.name}: is made with other values the second time; only torch's generator has a seed there"
            )
        parameters = laid_out(Tensor(name, tuple(one.shape)) for name, one in net.named_parameters() if one.requires_grad)
        names = {id(one): name for name, one in net.named_buffers()}
        buffers = laid_out(Tensor(names[id(one)], tuple(one.shape)) for _, _, one in changing_buffers(net))
        found = Description(
            tuple(parameters), tuple(buffers), layers, why, _same(values, _values(_prepared(defaults, self.name)))
        )
        if not found.parameters:
            raise UsageError(f"model {self.name}: has no parameters that are trained")
        _try(OwnModule(net, self.name, self.classes), self.shape)
        return found


def _same(one: tuple[Vector, Vector], other: tuple[Vector, Vector]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


def _values(net: nn.Module) -> tuple[Vector, Vector]:
    """Returns the values of trained parameters and of buffers in float32, in new arrays."""

    def joined(several: list[torch.Tensor]) -> Vector:
        parts = [one.detach().to(torch.float32).numpy().ravel() for one in several]
        return np.concatenate([np.empty(0, np.float32), *parts])

    return joined([*trained(net)]), joined([buffer for _, _, buffer in changing_buffers(net)])


def _prepared(net: nn.Module, name: str) -> nn.Module:
    """Returns the module with dropout layers that take their masks from our streams, and without
    counters of batches. UsageError for what cannot be kept in flat vectors of floats."""
    masked: dict[int, Masked] = {}
    for owner in list(net.modules()):
        for key, child in list(owner._modules.items()):
            if type(child) in DROPOUTS and child is not None:
                layer = DROPOUTS[type(child)](float(child.p))  # type: ignore[arg-type]
                owner._modules[key] = masked.setdefault(id(child), Masked(layer))
        if isinstance(owner, NORMS) and owner.track_running_stats:
            if owner.momentum is None:
                raise UsageError(f"model {name}: {owner} counts batches; give it a momentum, such as 0.1")
            owner.register_buffer("num_batches_tracked", None)  # only counted: with a fixed momentum nothing depends on it
    for key, parameter in net.named_parameters():
        if not parameter.is_floating_point():
            raise UsageError(f"model {name}: parameter {key} must be of real numbers, got {parameter.dtype}")
    several = [id(buffer) for _, _, buffer in changing_buffers(net)]
    if len(set(several)) < len(several):
        raise UsageError(f"model {name}: two modules share a buffer, of which each would have its own; register it once")
    return net


def _try(module: OwnModule, shape: Shape) -> None:
    """Raises UsageError unless forward and backward work on a batch of zeros, draw nothing, change
    nothing but buffers, and give the same again."""
    x, labels = torch.zeros(EXAMPLES, *shape), torch.zeros(EXAMPLES, dtype=torch.int64)
    net = module.net.to(torch.float32)
    kept = [buffer.clone() for _, _, buffer in changing_buffers(net)]

    def logits() -> torch.Tensor:
        for (_, _, buffer), value in zip(changing_buffers(net), kept, strict=True):
            buffer.copy_(value)
        module.set_masks(RandomStream(0, Purpose.dropout, 0, 0))
        found: torch.Tensor = module(x)
        return found

    try:
        for training in (False, True):
            module.train(training)
            found = _twice(module, logits)
        gradients: Sequence[torch.Tensor | None] = torch.autograd.grad(
            F.cross_entropy(found, labels), trained(net), allow_unused=True
        )
    except FedbenchError:
        raise
    except Exception as error:
        why, *code = described(error)
        raise UsageError(f"model {module.name}: fails on {EXAMPLES} examples of shape {shape}: {why}", *code) from error
    names = [name for name, one in net.named_parameters() if one.requires_grad]
    if unused := [name for name, gradient in zip(names, gradients, strict=True) if gradient is None]:
        raise UsageError(f"model {module.name}: forward does not use parameter {unused[0]}; leave it out, or freeze it")


def _twice(module: OwnModule, logits: Callable[[], torch.Tensor]) -> torch.Tensor:
    """Returns the logits of a forward pass that gave the same ones before."""
    generator, fixed = torch.get_rng_state(), dict(constants(module.net))
    first, second = logits(), logits()
    if not torch.equal(generator, torch.get_rng_state()):
        raise UsageError(
            f"model {module.name}: forward draws from torch's generator, which has no seed there; use nn.Dropout or nn.Dropout2d, whose "
            "masks come from the run's seed, and dropout=0 elsewhere"
        )
    if changed := [name for name, bits in constants(module.net) if bits != fixed.get(name)]:
        raise UsageError(f"model {module.name}: forward changes {changed[0]}, which is a constant; make it a buffer of floats")
    if not torch.equal(first, second) and not first.isnan().any():
        raise UsageError(
            f"model {module.name}: forward gives other logits the second time; it must depend on its parameters, buffers and batch alone"
        )
    return second


def constants(net: nn.Module) -> Iterator[tuple[str, bytes]]:
    """Yields the names and bytes of all tensors that are no part of the flat vectors."""
    travelling = {id(buffer) for _, _, buffer in changing_buffers(net)} | {id(one) for one in trained(net)}
    for name, one in (*net.named_parameters(), *net.named_buffers()):
        if id(one) not in travelling:
            yield name, one.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
