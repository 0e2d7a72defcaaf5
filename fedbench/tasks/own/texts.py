"""Reads columns of texts and labels from Parquet and Arrow files, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from fedbench.errors import RecordError, UsageError
from fedbench.tasks.own.limits import Limits
from fedbench.tasks.own.tables_of_arrow import Parquet, Saved
from fedbench.tasks.text_files import check_columns, check_text


def write(path: Path, wanted: Sequence[str], out: BinaryIO) -> None:
    """Writes a line [column, ..] for every part of a file, in which the last column has the labels.
    RecordError, which names file, column and row, if a column is missing or a text is none."""
    limits = Limits(path, path.stat().st_size)
    try:
        table = (Parquet if path.suffix == ".parquet" else Saved)(path, "train", limits)
        check_columns(path, table.schema.names, wanted)
        row, size = 0, 0
        for batch in table.batches(wanted, ()):
            columns = [column.values.to_pylist() for column in batch]
            for name, column in zip(wanted[:-1], columns, strict=False):
                for i, text in enumerate(column):
                    check_text(path, name, row + i, text)
            line = json.dumps(columns, default=repr).encode() + b"\n"
            row, size = row + len(batch[0]), size + len(line)
            limits.unpacked(size)
            out.write(line)
    except UsageError as error:
        raise RecordError(str(error)) from None
