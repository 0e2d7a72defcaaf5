"""Checks and reads the files of a pretrained encoder. Nothing in them is executed.

A folder holds config.json, model.safetensors and tokenizer.json, as transformers' save_pretrained
writes them. The configuration is validated by a schema. Weights are read from safetensors only;
pickled ones are never opened. Nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

from fedbench import extras, plain_files
from fedbench.encoder_folder import CONFIG
from fedbench.errors import MissingDataError, RecordError, one_line
from fedbench.refusals import refused_in
from fedbench.tasks.tensors import Shape

LIBRARIES = ("safetensors", "tokenizers", "torch", "transformers")
Size = Annotated[int, Field(ge=1, le=1_000_000)]


class BertConfig(BaseModel):
    """The keys of config.json that determine the network of a BERT. The other keys do not, or are
    about dropout, which is off."""

    model_config = ConfigDict(frozen=True, strict=True, title="configuration")

    model_type: Literal["bert"]
    vocab_size: Size
    hidden_size: Size
    num_hidden_layers: Annotated[int, Field(ge=1, le=200)]
    num_attention_heads: Size
    intermediate_size: Size
    max_position_embeddings: Size = 512
    type_vocab_size: Annotated[int, Field(ge=1, le=100)] = 2
    hidden_act: Literal["gelu", "gelu_new", "relu"] = "gelu"
    layer_norm_eps: Annotated[float, Field(gt=0, lt=1)] = 1e-12
    initializer_range: Annotated[float, Field(ge=0, le=1)] = 0.02
    pad_token_id: Annotated[int, Field(ge=0)] = 0
    position_embedding_type: Literal["absolute"] = "absolute"

    @model_validator(mode="after")
    def _fits(self) -> BertConfig:
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size must be a multiple of num_attention_heads, got {self.hidden_size} and {self.num_attention_heads}"
            )
        if self.pad_token_id >= self.vocab_size:
            raise ValueError(f"pad_token_id must be below vocab_size {self.vocab_size}, got {self.pad_token_id}")
        return self


def require_libraries() -> None:
    """Raises MissingDataError, which names the extra to install, if one of LIBRARIES is not
    installed. It imports none of them."""
    if found := extras.lacking("text", "a text task", LIBRARIES):
        raise MissingDataError(found)


def read_config(file: Path) -> BertConfig:
    """Returns the content of config.json. RecordError, which names the key, if it is not that of a
    BERT."""
    text = plain_files.text(file, 1 << 20, "configuration", RecordError)
    with refused_in(str(file), RecordError):
        return BertConfig.model_validate(plain_files.json_of(text, str(file), RecordError))


def read_weights(file: Path, shapes: Mapping[str, Shape], drawn: frozenset[str]) -> dict[str, npt.NDArray[np.float32]]:
    """Returns the tensors of these names that the file has, in float32.

    Args:
        file: A file of safetensors. It may hold further tensors.
        shapes: The shape of every tensor, by name.
        drawn: Names of tensors that the file may lack, because they can be drawn.

    Raises:
        RecordError: The file is not safetensors, is not whole, lacks a tensor that cannot be drawn,
            or has one of another shape or type.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "numpy") as opened:
            names = {_modern(name): name for name in opened.keys()}  # noqa: SIM118
            if lacking := [name for name in shapes if name not in names and name not in drawn]:
                raise RecordError(f"{file}: has no tensor {lacking[0]}, which the {CONFIG} beside it asks for")
            return {name: _tensor(file, opened, names[name], shapes[name]) for name in shapes if name in names}
    except SafetensorError as error:
        raise RecordError(
            f"{file}: not a whole file of safetensors ({one_line(error)}); pickled weights are never read"
        ) from None


def _modern(name: str) -> str:
    """Returns the name that a tensor has today. In older files the tensors of a norm are called
    gamma and beta, and in files of an encoder alone the prefix bert is missing."""
    name = re.sub(r"\.beta$", ".bias", re.sub(r"\.gamma$", ".weight", name))
    return f"bert.{name}" if name.startswith(("embeddings.", "encoder.", "pooler.")) else name


def _tensor(file: Path, opened: Any, name: str, expected: Shape) -> npt.NDArray[np.float32]:
    part = opened.get_slice(name)
    shape, dtype = tuple(part.get_shape()), part.get_dtype()
    if shape != expected or dtype not in ("F32", "F16"):
        raise RecordError(f"{file}: tensor {name} must be F32 or F16 {expected} by the {CONFIG} beside it, got {dtype} {shape}")
    return np.asarray(opened.get_tensor(name), np.float32)
