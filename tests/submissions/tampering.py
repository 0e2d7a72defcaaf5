"""How a submission is tampered with: its manifest, its files with their digests, its records with
their checksums."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from fedbench.results import archive
from fedbench.results.archive import CURVES_FILE, CURVES_SHA256, RUNS
from fedbench.results.record import Record, result_digest, run_id
from fedbench.submissions.manifest import MANIFEST
from tests.changes import put


def reseal(folder: Path) -> None:
    """The manifest gets the digests of what is there now."""
    others = [one for one in sorted(folder.iterdir()) if one.name != MANIFEST]
    files = {one.name: {"bytes": one.stat().st_size, "sha256": hashlib.sha256(one.read_bytes()).hexdigest()} for one in others}
    said(folder, "files", files)


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest."""
    found = yaml.safe_load((folder / MANIFEST).read_text())
    change(found)
    (folder / MANIFEST).write_text(yaml.dump(found, Dumper=_Plain, sort_keys=False, allow_unicode=True))


def said(folder: Path, path: str, value: Any) -> None:
    """Put a value into the manifest."""
    changed(folder, lambda found: put(found, path, value))


def written(folder: Path, name: str, content: bytes) -> None:
    """Replace a file, with all digests right."""
    (folder / name).write_bytes(content)
    reseal(folder)


def records(folder: Path) -> list[Record]:
    return archive.read(folder, check=False)


def repacked(folder: Path, several: list[Record]) -> None:
    """Replace the records, with all checksums right."""
    archive.write(folder, several)
    reseal(folder)


def forged(folder: Path, changes: Mapping[str, Any], which: int = 0, *, identity: bool = False) -> None:
    """Change a record, and compute its digest again; with `identity` its id too."""
    several = records(folder)
    meta: dict[str, Any] = json.loads(json.dumps(several[which].meta))
    for path, value in changes.items():
        put(meta, path, value)
    if identity:
        meta["run_id"] = run_id(meta["spec"]["scenario_hash"], meta["spec"]["algorithm"], meta["spec"]["seed"])
    if "result" in meta["digests"]:
        meta["digests"]["result"] = result_digest(meta, several[which].curves)
    several[which] = Record(meta, several[which].curves)
    repacked(folder, several)


def tables(folder: Path) -> tuple[pa.Table, pa.Table]:
    return pq.read_table(folder / RUNS), pq.read_table(folder / CURVES_FILE)


def parquet(table: pa.Table, **more: Any) -> bytes:
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd", **more)
    return content.getvalue()


def retabled(folder: Path, runs: pa.Table | None = None, curves: pa.Table | None = None, **more: Any) -> None:
    """Replace tables, with all checksums right."""
    old_runs, old_curves = tables(folder)
    content = parquet(old_curves if curves is None else curves, **more)
    checksum = {CURVES_SHA256: hashlib.sha256(content).hexdigest().encode()}
    (folder / CURVES_FILE).write_bytes(content)
    found = (old_runs if runs is None else runs).replace_schema_metadata(checksum)
    written(folder, RUNS, parquet(found, **more))


def column(table: pa.Table, name: str, values: Callable[[list[Any]], list[Any]], kind: pa.DataType | None = None) -> pa.Table:
    """The table with other values in a column."""
    where = table.column_names.index(name)
    return table.set_column(where, name, pa.array(values(table.column(name).to_pylist()), kind or table.schema.field(name).type))


def cell(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change one cell of runs.parquet, the first of a column."""
    runs, _ = tables(folder)
    retabled(folder, column(runs, name, lambda values: [change(values[0]), *values[1:]]))
