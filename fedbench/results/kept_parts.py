"""What a run achieves on every client and every class, kept beside its record as two Parquet files.

clients.parquet   client, examples: of training; accuracy, loss: of the last model on the client's mix of classes
classes.parquet   class, examples: of the test set; accuracy, loss: of the last model on them

If clients are held out, they are the last rows of clients.parquet, which then has a column
`unseen`. Their accuracy and loss are those on their own examples. If times were chosen, both files
have the rows of each of them too, before those of the end, and columns `seconds` and `version`.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench import plain_files
from fedbench.errors import RecordError
from fedbench.results import arrow, bounded_parquet
from fedbench.results.record import Record
from fedbench.types import Integers, Vector

CLIENTS, CLASSES = "clients.parquet", "classes.parquet"
COUNTED = {CLIENTS: "client", CLASSES: "class"}
"""The column of a file that counts clients or classes."""
MOST_ROWS = 2_000_000
LARGEST = 128 << 20  # bytes
NUMBERS = {"examples": "int64", "accuracy": "double", "loss": "double"}
TIMES = {"seconds": "double", "version": "int64"}
UNSEEN = {"unseen": "bool"}


def packed(
    first: str,
    examples: Integers,
    achieved: Sequence[tuple[Vector, Vector]],
    times: Sequence[tuple[float, int]] = (),
    unseen: int = 0,
) -> bytes:
    """Returns the content of one of the files.

    Args:
        first: the column that counts clients or classes.
        examples: how many each has (n,).
        achieved: accuracy (n,) and loss (n,) at every time, the end last.
        times: seconds and version of these times; none if the end is the only one and is not named.
        unseen: how many clients, the last ones, are held out.
    """
    count, repeated = len(examples), len(achieved)
    columns: dict[str, npt.NDArray[Any]] = {}
    if times:
        seconds, versions = zip(*times, strict=True)
        columns |= {"seconds": np.repeat(np.array(seconds, np.float64), count), "version": np.repeat(versions, count)}
    columns |= {first: np.tile(np.arange(count), repeated), "examples": np.tile(examples, repeated)}
    columns |= {name: np.concatenate([one[i] for one in achieved]) for i, name in enumerate(("accuracy", "loss"))}
    if unseen:
        columns["unseen"] = np.tile(np.arange(count) >= count - unseen, repeated)
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


def tables(folder: Path) -> dict[str, pa.Table]:
    """Returns the files beside a record, by name. RecordError if one is damaged."""
    return {name: _table(folder / name, column) for name, column in COUNTED.items() if (folder / name).exists()}


def _table(file: Path, first: str) -> pa.Table:
    content = plain_files.content(file, LARGEST, file.stem, RecordError)
    optional = TIMES | UNSEEN if first == COUNTED[CLIENTS] else TIMES
    return bounded_parquet.table(content, {first: "int64", **NUMBERS}, MOST_ROWS, f"{file.stem} {file}", optional=optional)


def times(table: pa.Table) -> tuple[float, ...]:
    """Returns the times of the rows, ascending; none if only the end was asked for."""
    return tuple(np.unique(arrow.numbers(table.column("seconds"))).tolist()) if "seconds" in table.column_names else ()


def has(folder: Path, chosen: Sequence[float], end_seconds: float) -> bool:
    """Returns whether both files lie beside a record and have all chosen times until its end."""
    found = tables(folder)
    wanted = {one for one in chosen if one < end_seconds}
    return len(found) == len(COUNTED) and all(
        wanted <= set(times(one)) and (not chosen or "seconds" in one.column_names) for one in found.values()
    )


def unequal(table: pa.Table, content: bytes) -> str | None:
    """Returns the first column, with its row, in which a file differs from the content of another,
    bit for bit; None if they are equal."""
    other = pq.read_table(io.BytesIO(content))
    names: list[str] = [*dict.fromkeys([*other.column_names, *table.column_names])]
    for name in names:
        if name not in table.column_names or name not in other.column_names or len(table) != len(other):
            return name
        a, b = (np.ascontiguousarray(one.column(name).to_numpy()) for one in (table, other))
        apart = np.flatnonzero((a != b) & ~(np.isnan(a) & np.isnan(b)))
        if apart.size:
            return f"{name}[{int(apart[0])}]"
    return None


def check(folder: Path, record: Record) -> None:
    """Raises RecordError unless the clients that are kept beside a record, if they are, have the
    mean and the worst decile that the record says."""
    if (table := tables(folder).get(CLIENTS)) is None:
        return
    file, final = folder / CLIENTS, record.final
    counts = np.ones(len(table), np.bool_)
    if "seconds" in table.column_names and len(table):
        counts &= table.column("seconds").to_numpy() == times(table)[-1]
    if "unseen" in table.column_names:
        counts &= ~table.column("unseen").to_numpy()
    accuracy = np.sort(table.column("accuracy").to_numpy()[counts])
    if not len(accuracy):
        raise RecordError(f"clients {file}: expected a row for every client, got none; delete it")
    worst = float(accuracy[: max(1, len(accuracy) // 10)].mean())
    for name, said, got in (
        ("mean", final.client_accuracy_mean, float(accuracy.mean())),
        ("worst decile", final.client_accuracy_worst_decile, worst),
    ):
        if said != got:
            raise RecordError(f"clients {file}: the {name} of their accuracies is {got:.9g}, the record says {said}; delete it")
