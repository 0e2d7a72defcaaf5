"""Where records live. A run's folder appears complete or not at all; what was cut short is detected, never read.

<store>/<scenario>/<algorithm>/<run id>/record.json, curves.parquet        a finished record
<store>/<scenario>/<algorithm>/<run id>.partial/checkpoint.npz             a run under way, or one that was cut short
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedbench.errors import RecordError, UsageError
from fedbench.results.record import CURVES, Record

EXACT = ("seconds", "version", "steps", "gradient_evaluations", "bytes")  # axes stay float64 or int64, metrics are float32


class Store:
    """A folder of records."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def prepare(self) -> None:
        """Make sure that the folder can be written, before anything is computed. UsageError if not."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            probe = self.root / f".write-test-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise UsageError(
                f"store {self.root}: cannot be written ({error.strerror}); choose another folder with --store"
            ) from None

    def folder(self, scenario: str, algorithm: str, run_id: str) -> Path:
        return self.root / scenario / algorithm / run_id

    def write(self, record: Record) -> Path:
        """Store a record: into a temporary folder first, then renamed into place in one step."""
        spec = record.meta["spec"]
        final = self.folder(spec["scenario"]["name"], spec["algorithm"]["name"], record.run_id)
        temporary = final.with_name(f"{final.name}.writing-{os.getpid()}")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        curves = temporary / "curves.parquet"
        pq.write_table(pa.table({name: _stored(name, record.curves[name]) for name in CURVES}), curves)
        _sync_write(temporary / "record.json", _sealed(record.meta, curves))
        if final.exists():
            replaced = final.with_name(f"{final.name}.replaced-{os.getpid()}")
            final.rename(replaced)
            temporary.rename(final)
            shutil.rmtree(replaced)
        else:
            temporary.rename(final)
        return final

    def find(self, scenario: str, algorithm: str, run_id: str) -> Record | None:
        """The stored record of a run, or None."""
        folder = self.folder(scenario, algorithm, run_id)
        return read(folder) if folder.exists() else None

    def __iter__(self) -> Iterator[Record]:
        """All complete records, in path order; a damaged one raises RecordError."""
        if not self.root.is_dir():
            raise UsageError(f"store {self.root}: there is no such folder; `fedbench run` writes one")
        for file in sorted(self.root.glob("*/*/*/record.json")):
            if "." not in file.parent.name:
                yield read(file.parent)

    def unfinished(self) -> list[Path]:
        """Folders of runs that were cut short; `fedbench run --resume` continues them."""
        return sorted(self.root.glob("*/*/*.partial"))


def _stored(name: str, column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return column if name in EXACT else column.astype(np.float32)


def _sealed(meta: dict[str, Any], curves: Path) -> bytes:
    """The JSON text, whose last key is a checksum over the rest and over the curves' file."""
    body = {**meta, "files": {"curves.parquet": hashlib.sha256(curves.read_bytes()).hexdigest()}}
    seal = hashlib.sha256(_canonical(body)).hexdigest()
    return (json.dumps({**body, "seal": seal}, indent=1, allow_nan=False) + "\n").encode()


def _canonical(body: dict[str, Any]) -> bytes:
    return json.dumps(body, sort_keys=True, allow_nan=False).encode()


def _sync_write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file in one step: a reader sees the old content or the new, never a part."""
    temporary = path.with_name(f"{path.name}.writing-{os.getpid()}")
    _sync_write(temporary, content)
    temporary.replace(path)


def read(folder: str | Path) -> Record:
    """The record in a folder (or beside a record.json). RecordError if it is missing, truncated or changed."""
    folder = Path(folder)
    if folder.name == "record.json":
        folder = folder.parent
    if ".partial" in folder.name or ".writing-" in folder.name:
        raise RecordError(f"record {folder}: the run did not finish; continue it with `fedbench run ... --resume`")
    file = folder / "record.json"
    try:
        meta = json.loads(file.read_bytes())
        seal, files = meta.pop("seal"), meta["files"]
        if hashlib.sha256(_canonical(meta)).hexdigest() != seal:
            raise RecordError(f"record {file}: its seal does not fit its content: it was changed after it was written")
        curves = (folder / "curves.parquet").read_bytes()
        if hashlib.sha256(curves).hexdigest() != files["curves.parquet"]:
            raise RecordError(f"record {folder}: curves.parquet is damaged: its checksum is not the one in record.json")
        table = pq.read_table(pa.BufferReader(curves))
    except FileNotFoundError as error:
        raise RecordError(
            f"record {folder}: {Path(error.filename).name} is missing; expected record.json and curves.parquet"
        ) from None
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise RecordError(
            f"record {file}: cannot be read, it is truncated or not a record ({error}); delete the folder and run again"
        ) from None
    meta.pop("files")
    return Record(meta, {name: table.column(name).to_numpy() for name in table.column_names})
