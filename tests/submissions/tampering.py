"""How a submission is tampered with: its manifest, its files with their digests, its records with
their checksums."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from fedbench.errors import RecordError
from fedbench.results import archive
from fedbench.results.archive import CURVES_FILE, CURVES_SHA256, RUNS
from fedbench.results.record import Record, of_json, result_digest, run_id
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
    """Change what the table has of a record, and compute its digest again; with `identity` its id
    too."""
    one, (runs, _) = records(folder)[which], tables(folder)
    sections: dict[str, Any] = json.loads(json.dumps(one.as_dict()))
    for path, value in changes.items():
        put(sections, path, value)
    spec, algorithm, digests = sections["spec"], sections["spec"]["algorithm"], sections["digests"]
    if identity:
        content = algorithm.get("origin", {}).get("sha256", "")
        sections["run_id"] = run_id(spec["scenario_hash"], algorithm["name"], algorithm["options"], spec["seed"], content)
    with contextlib.suppress(RecordError):  # what has not the form of a record has no digest
        digests |= {"result": result_digest(of_json(sections, one.curves, "forged"))} if "result" in digests else {}
    of_readers = {"scenario": spec["scenario"]["name"], **{name: spec[name] for name in ("selector", "seed")}}
    of_readers |= {"run_id": sections["run_id"], "state": sections["outcome"]["state"]}
    texts = {name: json.dumps(sections.pop(section)) for name, section in archive.SECTIONS.items()}
    rows = runs.to_pylist()
    rows[which] |= of_readers | texts | {"rest": json.dumps(sections)}
    retabled(folder, pa.Table.from_pylist(rows, runs.schema))


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
