"""Reads and writes documents as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from fedbench import plain_files, strict_json
from fedbench.errors import FedbenchError, RecordError
from fedbench.refusals import refused_in

LARGEST = 64 << 20  # bytes of a file
M = TypeVar("M", bound=BaseModel)


def read(
    file: Path,
    form: type[M],
    name: str = "leaderboard",
    wanted: str = "not what a leaderboard is made from",
    *,
    most: int = LARGEST,
    error: type[FedbenchError] = RecordError,
) -> M:
    """Returns the document in a JSON file.

    Args:
        file: the file.
        form: the model of the document.
        name: what the file is, for messages.
        wanted: what is said if it has another form, before the first field that is wrong.
        most: its largest size in bytes.
        error: what is raised if the file is missing, too large, not JSON or of another form.
    """
    return parsed(plain_files.text(file, most, name, error), form, f"{name} {file}", wanted, error)


def parsed(text: str, form: type[M], where: str, wanted: str, error: type[FedbenchError] = RecordError) -> M:
    """Returns the document in a JSON text, as `read` does. `where` is its place, for messages."""
    try:
        strict_json.load(text)  # no key twice, and a bounded depth
    except strict_json.RefusedJsonError as refused:
        raise error(f"{where}: {refused}") from None
    with refused_in(f"{where}: {wanted}", error):
        return form.model_validate_json(text)


def as_json(document: BaseModel) -> str:
    """Returns the content of a document's file. A field that has its default value is left out."""
    values = document.model_dump(by_alias=True, exclude_defaults=True)
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
