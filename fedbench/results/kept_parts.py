"""What a run achieves on every client and every class, kept beside its record as two Parquet files.

clients.parquet   client, examples: of training; accuracy, loss: of the last model on the client's mix of classes
classes.parquet   class, examples: of the test set; accuracy, loss: of the last model on them
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
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
KINDS = {"client": "int64", "examples": "int64", "accuracy": "double", "loss": "double"}


def packed(first: str, examples: Integers, accuracy: Vector, loss: Vector) -> bytes:
    """Returns the content of one of the files, whose `first` column counts its rows."""
    content = io.BytesIO()
    columns = {first: np.arange(len(examples)), "examples": examples, "accuracy": accuracy, "loss": loss}
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


def check(folder: Path, record: Record) -> None:
    """Raises RecordError unless the clients that are kept beside a record, if they are, have the
    mean and the worst decile that the record says."""
    if not (file := folder / CLIENTS).exists():
        return
    content = plain_files.content(file, LARGEST, "clients", RecordError)
    table = bounded_parquet.table(content, KINDS, MOST_CLIENTS, f"clients {file}")
    accuracy = np.sort(table.column("accuracy").to_numpy())
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
