"""A store: a folder with a folder for every record. A record's folder appears complete or not at
all. A record that was cut short is noticed and refused.

<store>/<scenario>/<algorithm>/<run id>/record.json, curves.parquet        a finished record
<store>/<scenario>/<algorithm>/<run id>/model.safetensors                  its model, if it was to be kept
<store>/<scenario>/<algorithm>/<run id>.partial/checkpoint.bin             a run under way, or one that was cut short
<store>/.locks/<run id>.lock                                               held by the process that computes the run

A new record is written into <run id>.writing-PID and then renamed. If it replaces an older record,
the older one is <run id>.replaced-PID meanwhile.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout
from pydantic import JsonValue

from fedbench import plain_files, strict_json
from fedbench.errors import RecordError, UsageError
from fedbench.results import arrow, bounded_parquet, held
from fedbench.results.consistent import check_consistent
from fedbench.results.record import COLUMNS, SERVER_CURVE, Column, Record, columns_of, kind_of, of_json, own_curves_in
from fedbench.scenarios.schema import MOST_POINTS

FILES = ("record.json", "curves.parquet")
LOCKS = ".locks"
CHECKPOINT = "checkpoint.bin"
UNFINISHED = re.compile(r"[0-9a-f]{16}\.")
"""How the folder of a run that is under way begins, or of a record that is being replaced."""
LARGEST_FILE = 64 << 20
CURVE_KINDS = {name: str(pa.from_numpy_dtype(kind)) for name, kind in COLUMNS.items()}
SERVER_KIND = {SERVER_CURVE: CURVE_KINDS.pop(SERVER_CURVE)}
"""The column that curves may have beside the others."""


class Store:
    """A folder of records, into which several processes may write at the same time.

    Iterating yields all finished records in path order.

    Parameters
    ----------
    root : path
        The folder. It need not exist before a record is written.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def prepare(self) -> None:
        """Makes the folder, and tidies up after killed processes. It is called before anything is
        computed.

        Raises
        ------
        UsageError
            The folder cannot be written.
        """
        try:
            (self.root / LOCKS).mkdir(parents=True, exist_ok=True)
            probe = self.root / f".write-test-{os.getpid()}"
            probe.write_bytes(b"")
            for left in self.root.glob(".write-test-*"):
                left.unlink(missing_ok=True)
            self._mend_all()
        except OSError as error:
            raise UsageError(
                f"store {self.root}: cannot be written ({error.strerror}); choose another folder with --store"
            ) from None

    def lock_of(self, run_id: str) -> FileLock:
        """Returns the lock of a run, which is held by the process that computes the run or writes
        its record.

        Parameters
        ----------
        run_id : str
            The run's id.

        Returns
        -------
        filelock.FileLock
            The lock. If another process holds it, acquiring it raises filelock.Timeout at once.
        """
        return FileLock(self.root / LOCKS / f"{run_id}.lock", timeout=0)

    def mend(self, final: Path) -> None:
        """Finishes or undoes what a killed process had begun with a record.

        The caller holds the lock of the run. A record that was moved aside for a newer one comes
        back, unless the newer one is in its place. Half-written files and the checkpoint of a
        finished run are removed.

        Parameters
        ----------
        final : Path
            The folder of the record.
        """
        for aside in final.parent.glob(f"{final.name}.replaced-*"):
            if final.exists():
                shutil.rmtree(aside)
            else:
                aside.rename(final)
        for half in final.parent.glob(f"{final.name}.writing-*"):
            shutil.rmtree(half)
        partial = final.with_name(f"{final.name}.partial")
        for half in partial.glob("*.writing-*"):
            half.unlink()
        if (final / "record.json").exists():
            self.discard_partial(partial)

    def _mend_all(self) -> None:
        """Mends all records of runs that no process computes now."""
        marks = ("*.writing-*", "*.replaced-*", "*.partial")
        names = {left.with_name(left.name.partition(".")[0]) for mark in marks for left in self.root.glob(f"*/*/{mark}")}
        for final in sorted(names):
            try:
                with self.lock_of(final.name):
                    self.mend(final)
            except Timeout:
                continue

    def folder(self, scenario: str, algorithm: str, run_id: str) -> Path:
        """Returns the folder of a run's record, whether or not it exists.

        Parameters
        ----------
        scenario : str
            The scenario's name.
        algorithm : str
            The algorithm's name.
        run_id : str
            The run's id.

        Returns
        -------
        Path
            The folder.
        """
        return self.root / scenario / algorithm / run_id

    def partial(self, scenario: str, algorithm: str, run_id: str) -> Path:
        """Returns the folder of a run's checkpoint, whether or not it exists.

        Parameters
        ----------
        scenario : str
            The scenario's name.
        algorithm : str
            The algorithm's name.
        run_id : str
            The run's id.

        Returns
        -------
        Path
            The folder.
        """
        return self.root / scenario / algorithm / f"{run_id}.partial"

    def discard_partial(self, partial: Path) -> None:
        """Removes the folder of a checkpoint, if it is there.

        Parameters
        ----------
        partial : Path
            The folder.
        """
        shutil.rmtree(partial, ignore_errors=True)

    def write(self, record: Record, beside: Mapping[str, bytes] = MappingProxyType({})) -> Path:
        """Stores a record. It is written into a temporary folder, which is then renamed in one
        step.

        Parameters
        ----------
        record : Record
            The record.
        beside : mapping of str to bytes
            Files that lie beside it, by name, such as its model.

        Returns
        -------
        Path
            The record's folder.
        """
        final = self.folder(record.scenario, record.spec.algorithm.name, record.run_id)
        temporary = final.with_name(f"{final.name}.writing-{os.getpid()}")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        curves = io.BytesIO()  # pyarrow takes a path with a colon for an address
        pq.write_table(arrow.table({name: stored(name, record.curves[name]) for name in columns_of(record.curves)}), curves)
        for name, content in (
            *beside.items(),
            ("curves.parquet", curves.getvalue()),
            ("record.json", _sealed(record.as_dict(), curves.getvalue())),
        ):
            with held.naming(temporary / name), (temporary / name).open("wb") as file:
                held.sync(file, content)
        if final.exists():
            replaced = final.with_name(f"{final.name}.replaced-{os.getpid()}")
            final.rename(replaced)
            temporary.rename(final)
            shutil.rmtree(replaced)
        else:
            temporary.rename(final)
        return final

    def find(self, scenario: str, algorithm: str, run_id: str) -> Record | None:
        """Returns the stored record of a run.

        Parameters
        ----------
        scenario : str
            The scenario's name.
        algorithm : str
            The algorithm's name.
        run_id : str
            The run's id.

        Returns
        -------
        Record or None
            The record; None if there is none.

        Raises
        ------
        RecordError
            The record is damaged.
        """
        folder = self.folder(scenario, algorithm, run_id)
        return read(folder) if folder.exists() else None

    def has(self, scenario: str, algorithm: str, run_id: str) -> bool:
        """Returns whether there is a record of the run, without reading it.

        Parameters
        ----------
        scenario : str
            The scenario's name.
        algorithm : str
            The algorithm's name.
        run_id : str
            The run's id.

        Returns
        -------
        bool
            Whether there is one.
        """
        return (self.folder(scenario, algorithm, run_id) / "record.json").exists()

    def __iter__(self) -> Iterator[Record]:
        """Yields all finished records in path order. Raises RecordError at a damaged one."""
        yield from map(read, self._folders())

    def readable(self) -> tuple[list[Record], list[RecordError]]:
        """Returns all records that can be read, in path order, and the errors of the others.

        Returns
        -------
        records : list of Record
            The records.
        problems : list of RecordError
            The errors.

        Raises
        ------
        UsageError
            There is no such folder.
        """
        records, problems = [], []
        for folder in self._folders():
            try:
                records.append(read(folder))
            except RecordError as error:
                problems.append(error)
        return records, problems

    def _folders(self) -> list[Path]:
        if not self.root.is_dir():
            raise UsageError(f"store {self.root}: there is no such folder; `fedbench run` writes one")
        folders = [file.parent for file in sorted(self.root.glob("*/*/*/record.json"))]
        return [folder for folder in folders if "." not in folder.name]

    def unfinished(self) -> list[Path]:
        """Returns the checkpoint folders of runs that have no record.

        These runs were cut short, or are under way. `fedbench run --resume` continues them.

        Returns
        -------
        list of Path
            The folders.
        """
        partials = sorted(self.root.glob("*/*/*.partial"))
        return [one for one in partials if not (one.with_suffix("") / "record.json").exists()]


def own_kinds(names: Iterable[str]) -> dict[str, str]:
    """Returns the columns of metrics of one's own with their kinds."""
    return {name: str(pa.from_numpy_dtype(kind_of(name))) for name in names if name not in COLUMNS}


def stored(name: str, column: Column) -> Column:
    """Returns a column of the curves as it is stored."""
    return column.astype(kind_of(name), copy=False)


def _sealed(sections: dict[str, JsonValue], curves: bytes) -> bytes:
    """Returns the JSON text of a record. Its last key, `seal`, is a checksum over the rest, which
    includes the checksum of curves.parquet."""
    body: dict[str, JsonValue] = {**sections, "files": {"curves.parquet": hashlib.sha256(curves).hexdigest()}}
    seal = hashlib.sha256(_canonical(body)).hexdigest()
    return (json.dumps({**body, "seal": seal}, indent=1, allow_nan=False) + "\n").encode()


def _canonical(body: Mapping[str, object]) -> bytes:
    return json.dumps(body, sort_keys=True, allow_nan=False).encode()


def write_atomically(path: Path, *content: bytes | memoryview) -> None:
    """Replaces a file in one step. A reader sees the old content or the new one, never a part.
    Missing folders are made, and what a killed process left of the file is removed. Only plain
    files are replaced: OSError for a folder, a device or a pipe."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    held.remove_left(path)
    temporary = path.with_name(f"{path.name}.writing-{os.getpid()}")
    with held.naming(temporary), held.new_file(temporary) as file:
        held.sync(file, *content)
        temporary.replace(path)


def record_folders(place: str | Path) -> list[Path]:
    """Returns the folders of the records in `place`, in path order. `place` is a record, its
    record.json, a store, or a folder of a store.

    Raises UsageError if there is no such place, or no record in it.
    """
    place = Path(place)
    if not os.path.exists(place):  # unlike Path.exists, no error for a name that is too long
        raise UsageError(f"record {place}: there is no such folder; expected a record, or a store of `fedbench run`")
    if place.name == "record.json" or UNFINISHED.match(place.name) or any((place / name).exists() for name in FILES):
        return [place]
    levels = (place.glob(f"{'*/' * depth}record.json") for depth in (1, 2, 3))
    found = sorted(file.parent for level in levels for file in level if "." not in file.parent.name)
    if not found:
        raise UsageError(f"record {place}: expected {' and '.join(FILES)}, or a store that has finished records")
    return found


def read(folder: str | Path) -> Record:
    """Returns the record in a folder, or beside a record.json.

    Raises RecordError if the record is missing, truncated or changed, if it is larger or of another
    form than what a run writes, or if it contradicts itself or the name of its folder.
    """
    folder = Path(folder)
    if folder.name == "record.json":
        folder = folder.parent
    if ".partial" in folder.name or ".writing-" in folder.name:
        raise RecordError(f"record {folder}: the run did not finish; continue it with `fedbench run ... --resume`")
    file = folder / "record.json"
    try:
        content = _content(file).decode()
        strict_json.check_groups(content)
        sections = json.loads(content)
        seal, files = sections.pop("seal"), sections["files"]
        if hashlib.sha256(_canonical(sections)).hexdigest() != seal:
            raise RecordError(f"record {file}: its seal does not fit its content: it was changed after it was written")
        curves = _content(folder / "curves.parquet")
        if hashlib.sha256(curves).hexdigest() != files["curves.parquet"]:
            raise RecordError(f"record {folder}: curves.parquet is damaged: its checksum is not the one in record.json")
        del sections["files"]
        optional = SERVER_KIND | own_kinds(own_curves_in(sections.get("spec")))
        table = bounded_parquet.table(curves, CURVE_KINDS, MOST_POINTS, f"record {folder}: curves.parquet", optional=optional)
    except FileNotFoundError as error:
        raise RecordError(
            f"record {folder}: {Path(error.filename).name} is missing; expected record.json and curves.parquet"
        ) from None
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError, OSError) as error:
        raise RecordError(
            f"record {file}: cannot be read, it is truncated or not a record ({error}); delete the folder and run again"
        ) from None
    columns = {name: arrow.numbers(table.column(name)) for name in table.column_names}
    record = of_json(sections, columns, f"record {folder}")
    check_consistent(record, f"record {folder}")
    if folder.resolve().name != record.run_id:
        raise RecordError(f"record {folder}: expected a folder of the name {record.run_id}, which is the run's id")
    return record


def _content(file: Path) -> bytes:
    """Returns the content of a file of a record. Raises RecordError if it is too large or no plain
    file, such as a device without an end, and FileNotFoundError if it is missing."""
    file.stat()
    return plain_files.content(file, LARGEST_FILE, "record", RecordError)
