"""Pretrained encoders as models: a BERT from a local folder with a classifier on top, of which some
tensors are trained.

Names of models: `encoder_full` trains every tensor, `encoder_head` the classifier alone,
`encoder_lora8` low-rank updates of rank 8 of all query and value matrices, and the classifier (any
rank; see fedbench/tasks/lora.py). The flat vector holds the trained tensors, in the order of the
module; the others are read once per process and shared by all its jobs. Sources: Devlin et al.
2019, arXiv:1810.04805 (BERT); Hu et al. 2022, arXiv:2106.09685 (LoRA).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError, closest
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.tasks.encoder_files import CONFIG, WEIGHTS, BertConfig, locate, read_config, read_weights
from fedbench.tasks.tensors import Constant, Normal, Shape, Uniform
from fedbench.types import Vector

LORA_MATRICES = ("query", "value")


@dataclass(frozen=True, slots=True)
class EncoderTensor:
    """A tensor of the network. `law`: how it is drawn where the file of weights does not have it;
    None if the file must."""

    name: str
    shape: Shape
    law: Uniform | Normal | Constant | None = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class EncoderModel:
    """A BERT with a classifier on examples of `input_shape`: token ids (tokens,), or ids and token
    types (2, tokens), as float32.

    `rank`: of the low-rank updates, for a name that has one. The interface is that of Model; the
    encoder has no buffers.
    """

    name: str
    folder: Path
    config: BertConfig
    input_shape: Shape
    classes: int
    rank: int | None = None

    @property
    def output_shape(self) -> Shape:
        return (self.classes,)

    @property
    def symbols(self) -> int:
        """Examples are made of so many tokens, the whole numbers 0 .. symbols - 1."""
        return self.config.vocab_size

    @functools.cached_property
    def tensors(self) -> tuple[EncoderTensor, ...]:
        """All tensors of the network, in the order of its module."""
        return tuple(_tensors(self.config, self.classes, self.rank))

    @functools.cached_property
    def parameters(self) -> tuple[EncoderTensor, ...]:
        """The trained ones, which the flat vector holds one after the other."""
        return tuple(tensor for tensor in self.tensors if self.name == "encoder_full" or tensor.law is not None)

    @property
    def dim(self) -> int:
        """Number of trained parameters."""
        return sum(parameter.size for parameter in self.parameters)

    @functools.cached_property
    def weights(self) -> Mapping[str, npt.NDArray[np.float32]]:
        """What the file has of `tensors`, by name; read once and not to be written. RecordError if
        the file is not safetensors, is not whole, lacks a tensor of the encoder or has one of
        another shape."""
        shapes = {tensor.name: tensor.shape for tensor in self.tensors}
        return read_weights(self.folder / WEIGHTS, shapes, frozenset(t.name for t in self.tensors if t.law is not None))

    def x0(self, seed: int, dtype: npt.DTypeLike = np.float32) -> Vector:
        """Initial parameters (dim,): the file's values; where it has none, draws in float64,
        rounded to dtype. Tensor t has its own stream (k = t). A new array."""
        parts = []
        for t, part in enumerate(self.parameters):
            if part.name in self.weights or part.law is None:
                parts.append(self.weights[part.name].ravel().astype(dtype))
            else:
                parts.append(part.law.draw(RandomStream(seed, Purpose.parameters, 0, t), part.size).astype(dtype))
        return np.concatenate(parts)

    def buffers0(self, dtype: npt.DTypeLike = np.float32) -> Vector:
        """No buffers (0,)."""
        return np.empty(0, dtype)


def _tensors(config: BertConfig, classes: int, rank: int | None) -> Iterator[EncoderTensor]:
    """Yields the tensors of transformers' BertForSequenceClassification, with low-rank updates
    behind the matrices that have them."""
    d, wide = config.hidden_size, config.intermediate_size

    def linear(name: str, outputs: int, inputs: int) -> Iterator[EncoderTensor]:
        yield EncoderTensor(f"{name}.weight", (outputs, inputs))
        yield EncoderTensor(f"{name}.bias", (outputs,))
        if rank is not None and name.endswith(LORA_MATRICES):
            yield EncoderTensor(f"{name}.a", (rank, inputs), Uniform(1 / math.sqrt(inputs)))
            yield EncoderTensor(f"{name}.b", (outputs, rank), Constant(0.0))

    def norm(name: str) -> Iterator[EncoderTensor]:
        yield EncoderTensor(f"{name}.weight", (d,))
        yield EncoderTensor(f"{name}.bias", (d,))

    for kind, rows in (
        ("word", config.vocab_size),
        ("position", config.max_position_embeddings),
        ("token_type", config.type_vocab_size),
    ):
        yield EncoderTensor(f"bert.embeddings.{kind}_embeddings.weight", (rows, d))
    yield from norm("bert.embeddings.LayerNorm")
    for number in range(config.num_hidden_layers):
        layer = f"bert.encoder.layer.{number}"
        for matrix in ("query", "key", "value"):
            yield from linear(f"{layer}.attention.self.{matrix}", d, d)
        yield from linear(f"{layer}.attention.output.dense", d, d)
        yield from norm(f"{layer}.attention.output.LayerNorm")
        yield from linear(f"{layer}.intermediate.dense", wide, d)
        yield from linear(f"{layer}.output.dense", d, wide)
        yield from norm(f"{layer}.output.LayerNorm")
    yield from linear("bert.pooler.dense", d, d)
    yield EncoderTensor("classifier.weight", (classes, d), Normal(config.initializer_range))
    yield EncoderTensor("classifier.bias", (classes,), Constant(0.0))


SUGGESTED = ("encoder_full", "encoder_head", "encoder_lora8")
_NAME = re.compile(r"encoder_(?:full|head|lora([1-9][0-9]{0,3}))")


def make_encoder(name: str, given: str | None, input_shape: Shape, classes: int) -> EncoderModel:
    """The model of that name over the encoder in a folder: see `locate`. UsageError if the name is
    unknown, the rank is larger than the matrices, or examples have more tokens than the encoder has
    positions."""
    found = _NAME.fullmatch(name)
    if found is None:
        near = closest(name, SUGGESTED)
        raise UsageError(f"model: a text task takes {', '.join(SUGGESTED)} (or another rank), got {name!r}{near}")
    folder = locate(given)
    config = read_config(folder / CONFIG)
    rank = None if found[1] is None else int(found[1])
    if rank is not None and rank > config.hidden_size:
        raise UsageError(f"model {name}: the rank must be at most {config.hidden_size}, the encoder's hidden_size, got {rank}")
    if input_shape[-1] > config.max_position_embeddings:
        raise UsageError(
            f"model {name}: examples have {input_shape[-1]} tokens, the encoder takes at most {config.max_position_embeddings}"
        )
    if len(input_shape) == 2 and config.type_vocab_size < 2:
        raise UsageError(f"model {name}: pairs of texts need an encoder with two token types, {folder / CONFIG} has 1")
    return EncoderModel(name, folder, config, input_shape, classes, rank)
