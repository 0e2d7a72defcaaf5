"""Pretrained encoders as models: a BERT from a local folder with a classifier on top, of which some
tensors are trained.

The model `encoder_full` trains every tensor, and `encoder_head` the classifier alone.
`encoder_lora8` trains the classifier and low-rank updates of all query and value matrices; the
number is their rank, which may be another one (see fedbench/tasks/lora.py). The flat vector holds
the trained tensors, in the order of the module. The others are read once per process and shared by
all its jobs. Sources: Devlin et al. 2019, arXiv:1810.04805 (BERT); Hu et al. 2022, arXiv:2106.09685
(LoRA).
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

from fedbench.encoder_folder import CONFIG, WEIGHTS, locate
from fedbench.errors import UsageError, closest
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.tasks.encoder_files import BertConfig, read_config, read_weights
from fedbench.tasks.tensors import Constant, Normal, Shape, Tensor, Uniform
from fedbench.types import Vector

LORA_MATRICES = ("query", "value")


@dataclass(frozen=True)
class EncoderModel:
    """A BERT with a classifier on examples of `input_shape`: token ids (tokens,), or ids and token
    types (2, tokens), as float32.

    `rank` is that of the low-rank updates, or None for a model without them. The interface is that
    of Model; an encoder has no buffers.
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
        """Returns the number of different tokens in examples, which are the whole numbers 0 ..
        symbols - 1."""
        return self.config.vocab_size

    @functools.cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Returns all tensors of the network, in the order of its module."""
        return tuple(_tensors(self.config, self.classes, self.rank))

    @functools.cached_property
    def parameters(self) -> tuple[Tensor, ...]:
        """Returns the trained tensors, which the flat vector holds one after the other."""
        return tuple(tensor for tensor in self.tensors if self.name == "encoder_full" or tensor.law is not None)

    @property
    def dim(self) -> int:
        """Returns the number of trained parameters."""
        return sum(parameter.size for parameter in self.parameters)

    @functools.cached_property
    def weights(self) -> Mapping[str, npt.NDArray[np.float32]]:
        """Returns those of `tensors` that the file has, by name. They are read once and must not be
        written. RecordError if the file is not safetensors, is not whole, lacks a tensor of the
        encoder or has one of another shape."""
        shapes = {tensor.name: tensor.shape for tensor in self.tensors}
        return read_weights(self.folder / WEIGHTS, shapes, frozenset(t.name for t in self.tensors if t.law is not None))

    def x0(self, seed: int, dtype: npt.DTypeLike = np.float32) -> Vector:
        """Returns the initial parameters (dim,) in a new array: the file's values or, for tensors
        that it lacks, draws in float64, rounded to dtype. Tensor t has its own stream (k = t)."""
        parts = []
        for t, part in enumerate(self.parameters):
            if part.name in self.weights or part.law is None:
                parts.append(self.weights[part.name].ravel().astype(dtype))
            else:
                parts.append(part.law.draw(RandomStream(seed, Purpose.parameters, 0, t), part.size).astype(dtype))
        return np.concatenate(parts)

    def buffers0(self, dtype: npt.DTypeLike = np.float32) -> Vector:
        """Returns the values of no buffers (0,)."""
        return np.empty(0, dtype)


def _tensors(config: BertConfig, classes: int, rank: int | None) -> Iterator[Tensor]:
    """Yields the tensors of transformers' BertForSequenceClassification. The tensors of a low-rank
    update follow the matrix that has it."""
    d, wide = config.hidden_size, config.intermediate_size

    def linear(name: str, outputs: int, inputs: int) -> Iterator[Tensor]:
        yield Tensor(f"{name}.weight", (outputs, inputs))
        yield Tensor(f"{name}.bias", (outputs,))
        if rank is not None and name.endswith(LORA_MATRICES):
            yield Tensor(f"{name}.a", (rank, inputs), Uniform(1 / math.sqrt(inputs)))
            yield Tensor(f"{name}.b", (outputs, rank), Constant(0.0))

    def norm(name: str) -> Iterator[Tensor]:
        yield Tensor(f"{name}.weight", (d,))
        yield Tensor(f"{name}.bias", (d,))

    for kind, rows in (
        ("word", config.vocab_size),
        ("position", config.max_position_embeddings),
        ("token_type", config.type_vocab_size),
    ):
        yield Tensor(f"bert.embeddings.{kind}_embeddings.weight", (rows, d))
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
    yield Tensor("classifier.weight", (classes, d), Normal(config.initializer_range))
    yield Tensor("classifier.bias", (classes,), Constant(0.0))


SUGGESTED = ("encoder_full", "encoder_head", "encoder_lora8")
_NAME = re.compile(r"encoder_(?:full|head|lora([1-9][0-9]{0,3}))")


def make_encoder(name: str, given: str | None, input_shape: Shape, classes: int) -> EncoderModel:
    """Returns the model of that name over an encoder.

    Args:
        name: Such as encoder_full, encoder_head or encoder_lora8.
        given: The encoder's folder below the data root, or None for that of the package; see
            `locate`.
        input_shape: The shape of one example: (tokens,), or (2, tokens) for pairs of texts.
        classes: The number of classes.

    Raises:
        UsageError: The name is unknown, the rank is larger than the matrices, examples have more
            tokens than the encoder has positions, or it takes no pairs.
        MissingDataError: The encoder is not on this machine.
    """
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
