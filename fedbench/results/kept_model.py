"""A model that is kept beside its record, in the format safetensors: eight bytes with the length of
a JSON text, the text, which has names, kinds, shapes and places of all tensors, and their bytes.

The parameters lie first and then the buffers, as in the flat vectors of a run, so the file's bytes
and `digests.model` of the record say the same. Tensors that no client changes follow them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedbench import plain_files, strict_json
from fedbench.errors import RecordError
from fedbench.results.digests import Digest
from fedbench.results.record import Record

FILE = "model.safetensors"
LARGEST = 16 << 30  # bytes
LARGEST_HEAD = 100_000_000  # bytes, as other readers of the format have it


class Kept(NamedTuple):
    """A tensor as the file has it: `kind` is F32, I64, .., and `content` its bytes in C order."""

    name: str
    kind: str
    shape: tuple[int, ...]
    content: bytes


def packed(tensors: Iterable[Kept], sizes: tuple[int, int]) -> bytes:
    """Returns the content of the file. `sizes` are those of the two flat vectors, in numbers."""
    parameters, buffers = map(str, sizes)
    head: dict[str, object] = {"__metadata__": {"format": "pt", "parameters": parameters, "buffers": buffers}}
    contents, end = [], 0
    for one in tensors:
        begin, end = end, end + len(one.content)
        head[one.name] = {"dtype": one.kind, "shape": one.shape, "data_offsets": [begin, end]}
        contents.append(one.content)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return b"".join((len(text).to_bytes(8, "little"), text, *contents))


def named(folder: Path) -> list[tuple[str, str, tuple[int, ...], tuple[int, ...]]] | None:
    """Returns name, kind, shape and place of all tensors of a model that `check` has passed, in the
    file's order. None if its head has another form."""
    content = plain_files.content(folder / FILE, LARGEST, "model", RecordError)
    head = strict_json.load(content[8 : 8 + int.from_bytes(content[:8], "little")].decode())
    head.pop("__metadata__", None)
    try:
        return [(name, one["dtype"], tuple(one["shape"]), tuple(one["data_offsets"])) for name, one in head.items()]
    except (KeyError, TypeError, AttributeError):
        return None


def check(folder: Path, record: Record) -> None:
    """Raises RecordError unless the model that is kept beside a record, if there is one, is that of
    the record's digest."""
    if not (file := folder / FILE).exists():
        return
    content = plain_files.content(file, LARGEST, "model", RecordError)
    size = int.from_bytes(content[:8], "little")
    try:
        if len(content) < 8 or size > min(LARGEST_HEAD, len(content) - 8):
            raise ValueError("it is truncated")
        notes = strict_json.load(content[8 : 8 + size].decode())["__metadata__"]
        ends = np.cumsum([int(notes["parameters"]), int(notes["buffers"])])
        x, buffers = np.split(np.frombuffer(content, np.float32, int(ends[1]), 8 + size), [int(ends[0])])
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise RecordError(f"model {file}: is not what `fedbench run --keep-model` writes ({error}); delete it") from None
    found = Digest().add(x, buffers).hex()
    if found != record.digests.model:
        raise RecordError(f"model {file}: its digest is {found}, the record's model has {record.digests.model}; delete it")
