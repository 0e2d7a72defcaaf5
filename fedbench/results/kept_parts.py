"""What a run achieves on every client and every class, kept beside its record as two Parquet files.

clients.parquet   client, examples: of training; accuracy, loss: of the last model on the client's mix of classes
classes.parquet   class, examples: of the test set; accuracy, loss: of the last model on them

If clients are held out, they are the last rows of clients.parquet, which then has a column
`unseen`. Their accuracy and loss are those on their own examples.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench import plain_files
from fedbench.errors import RecordError
from fedbench.results import bounded_parquet
from fedbench.results.record import Record
from fedbench.scenarios.schema import MOST_CLIENTS
from fedbench.types import Integers, Vector

CLIENTS, CLASSES = "clients.parquet", "classes.parquet"
LARGEST = 64 << 20  # bytes
UNSEEN = {"unseen": "bool"}
KINDS = {"client": "int64", "examples": "int64", "accuracy": "double", "loss": "double"}


def packed(first: str, examples: Integers, accuracy: Vector, loss: Vector, unseen: int = 0) -> bytes:
    """Returns the content of one of the files, whose `first` column counts its rows. The last
    `unseen` rows are those of clients that are held out."""
    content, number = io.BytesIO(), np.arange(len(examples))
    columns: dict[str, npt.NDArray[Any]] = {first: number, "examples": examples, "accuracy": accuracy, "loss": loss}
    if unseen:
        columns["unseen"] = number >= len(number) - unseen
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


def check(folder: Path, record: Record) -> None:
    """Raises RecordError unless the clients that are kept beside a record, if they are, have the
    mean and the worst decile that the record says."""
    if not (file := folder / CLIENTS).exists():
        return
    content = plain_files.content(file, LARGEST, "clients", RecordError)
    table = bounded_parquet.table(content, KINDS, MOST_CLIENTS, f"clients {file}", optional=UNSEEN)
    accuracy = table.column("accuracy").to_numpy()
    if "unseen" in table.column_names:
        accuracy = accuracy[~table.column("unseen").to_numpy()]
    accuracy = np.sort(accuracy)
    final = record.final
    if not len(accuracy):
        raise RecordError(f"clients {file}: expected a row for every client, got none; delete it")
    worst = float(accuracy[: max(1, len(accuracy) // 10)].mean())
    for name, said, got in (
        ("mean", final.client_accuracy_mean, float(accuracy.mean())),
        ("worst decile", final.client_accuracy_worst_decile, worst),
    ):
        if said != got:
            raise RecordError(f"clients {file}: the {name} of their accuracies is {got:.9g}, the record says {said}; delete it")
