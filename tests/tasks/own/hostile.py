"""Data sets that are made to hang, to fill the memory or the terminal, or to end the program: a
writer for every kind, which returns the path to be named."""

from __future__ import annotations

import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pyarrow as pa
import pyarrow.parquet as pq

Y = np.arange(20) % 2
WRITERS: dict[str, Callable[[Path], Path]] = {}


def kind(write: Callable[[Path], Path]) -> Callable[[Path], Path]:
    WRITERS[write.__name__] = write
    return write


def parquet(folder: Path, columns: Any, **options: Any) -> Path:
    pq.write_table(pa.table(columns), folder / "bad.parquet", **options)
    return folder / "bad.parquet"


def saved(folder: Path, state: str, table: pa.Table | None = None, **options: Any) -> Path:
    (folder / "bad").mkdir()
    (folder / "bad" / "state.json").write_text(state)
    if table is not None:
        with pa.ipc.new_stream(folder / "bad" / "a.arrow", table.schema, options=pa.ipc.IpcWriteOptions(**options)) as stream:
            stream.write_table(table)
    return folder / "bad"


def state(*names: Any) -> str:
    return json.dumps({"_data_files": [{"filename": name} for name in names]})


@kind
def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "bad.npz")
    return folder / "bad.npz"


@kind
def link_to_a_device(folder: Path) -> Path:
    (folder / "bad.parquet").symlink_to("/dev/zero")
    return folder / "bad.parquet"


@kind
def device(folder: Path) -> Path:
    return Path("/dev/urandom")


@kind
def folder_of_the_system(folder: Path) -> Path:
    return Path("/usr")


@kind
def npz_of_two_gigabytes(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "bad.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name in ("x.npy", "y.npy"):
            with packed.open(name, "w") as member:
                np.lib.format.write_array_header_1_0(member, {"descr": "|i1", "fortran_order": False, "shape": (1 << 30,)})
                for _ in range(4):
                    member.write(bytes(64 << 20))
    return folder / "bad.npz"


@kind
def parquet_of_equal_numbers(folder: Path) -> Path:
    rows = 20_000_000
    return parquet(folder, {"x": np.zeros(rows), "y": np.arange(rows) >= rows // 2}, compression="zstd")


@kind
def parquet_of_one_long_text(folder: Path) -> Path:
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), ["a" * 1_000_000])
    return parquet(folder, {"x": texts, "y": np.arange(20_000) % 2})


@kind
def parquet_of_long_labels(folder: Path) -> Path:
    texts = pa.DictionaryArray.from_arrays(pa.array(np.arange(20_000, dtype=np.int32) % 2), ["a" * 1_000_000, "b" * 1_000_000])
    return parquet(folder, {"x": np.arange(20_000.0), "y": texts})


@kind
def parquet_of_long_lists(folder: Path) -> Path:
    lists = pa.ListArray.from_arrays(np.arange(41, dtype=np.int32) * 1_000_000, np.zeros(40_000_000))
    return parquet(folder, {"x": lists, "y": np.arange(40) % 2}, compression="zstd")


@kind
def parquet_of_large_images(folder: Path) -> Path:
    out = io.BytesIO()
    PIL.Image.new("L", (4000, 4000)).save(out, "PNG")
    return parquet(folder, {"x": [{"bytes": out.getvalue(), "path": None}] * 100, "y": [0, 1] * 50})


@kind
def arrow_of_zeros(folder: Path) -> Path:
    rows = 100_000_000
    table = pa.table({"x": np.zeros(rows), "y": np.zeros(rows, np.int8)})
    return saved(folder, state("a.arrow"), table, compression="zstd")


@kind
def arrow_of_nothing(folder: Path) -> Path:
    return saved(folder, state("a.arrow"), pa.table({"x": pa.nulls(10**9), "y": pa.nulls(10**9)}))


@kind
def state_is_a_pipe(folder: Path) -> Path:
    (folder / "bad").mkdir()
    os.mkfifo(folder / "bad" / "state.json")
    return folder / "bad"


@kind
def state_is_a_device(folder: Path) -> Path:
    (folder / "bad").mkdir()
    (folder / "bad" / "state.json").symlink_to("/dev/zero")
    return folder / "bad"


@kind
def state_is_large(folder: Path) -> Path:
    return saved(folder, " " * (17 << 20))


@kind
def state_is_deep(folder: Path) -> Path:
    return saved(folder, "[" * 100_000 + "]" * 100_000)


@kind
def state_names_a_file_often(folder: Path) -> Path:
    return saved(folder, state(*["a.arrow"] * 10_000), pa.table({"x": Y / 7, "y": Y}))


@kind
def state_names_another_folder(folder: Path) -> Path:
    return saved(folder, state("../../../etc/passwd"))


@kind
def state_names_no_text(folder: Path) -> Path:
    return saved(folder, state({"a": 1}))


@kind
def data_file_is_a_pipe(folder: Path) -> Path:
    path = saved(folder, state("a.arrow"))
    os.mkfifo(path / "a.arrow")
    return path


@kind
def many_splits_of_long_names(folder: Path) -> Path:
    (folder / "bad").mkdir()
    (folder / "bad" / "dataset_dict.json").write_text("{}")
    for i in range(500):
        (folder / "bad" / f"{'s' * 200}{i}\n\x1b[2J").mkdir()
    return folder / "bad"


@kind
def long_names(folder: Path) -> Path:
    return parquet(folder, {f"{'n' * 1000}{i}\x1b[2J\n": [1.0] for i in range(2000)})


@kind
def name_that_is_too_long(folder: Path) -> Path:
    return Path("a" * 5000 + ".npz")


@kind
def name_with_line_breaks(folder: Path) -> Path:
    (folder / "bad\n\x1b[2J.npz").write_bytes(b"junk")
    return folder / "bad\n\x1b[2J.npz"


@kind
def csv_of_one_line(folder: Path) -> Path:
    (folder / "bad.csv").write_bytes(b"x,y\n" + b"1" * (40 << 20))
    return folder / "bad.csv"


@kind
def csv_of_many_columns(folder: Path) -> Path:
    (folder / "bad.csv").write_bytes(b"," * 900_000 + b"\n" + (b"1," * 900_000 + b"1\n") * 4)
    return folder / "bad.csv"


@kind
def csv_whose_quotes_do_not_end(folder: Path) -> Path:
    (folder / "bad.csv").write_bytes(b'x,y\n"' + b"1,0\n" * 8_000_000)
    return folder / "bad.csv"


@kind
def leaf_of_brackets(folder: Path) -> Path:
    (folder / "bad.json").write_bytes(b'{"user_data": {"a": {"y": [' + b"[]," * 8_000_000 + b"[]]}}}")
    return folder / "bad.json"


@kind
def leaf_of_users(folder: Path) -> Path:
    users = ",".join(f'"{i}": {{"x": [[1]], "y": [{i}]}}' for i in range(200_000))
    (folder / "bad.json").write_text(f'{{"user_data": {{{users}}}}}')
    return folder / "bad.json"


@kind
def shards_of_pipes(folder: Path) -> Path:
    (folder / "bad").mkdir()
    os.mkfifo(folder / "bad" / "a.parquet")
    return folder / "bad"


@kind
def images_of_pipes(folder: Path) -> Path:
    (folder / "bad" / "a").mkdir(parents=True)
    os.mkfifo(folder / "bad" / "a" / "1.png")
    return folder / "bad"


@kind
def tar_of_zeros(folder: Path) -> Path:
    with lzma.open(folder / "bad.tar.xz", "wb") as out:
        for _ in range(200):
            out.write(bytes(4 << 20))
    return folder / "bad.tar.xz"


@kind
def tar_with_a_long_name(folder: Path) -> Path:
    with lzma.open(folder / "bad.tar.xz", "wb") as out:
        member = tarfile.TarInfo("././@LongLink")
        member.type, member.size = tarfile.GNUTYPE_LONGNAME, 100 << 20
        out.write(member.tobuf())
        for _ in range(100):
            out.write(b"a" * (1 << 20))
        out.write(tarfile.TarInfo("b").tobuf() + bytes(1024))
    return folder / "bad.tar.xz"


@kind
def zip_of_many_members(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "bad.zip", "w") as packed:
        for i in range(100_000):
            packed.writestr(f"a/{i}.png", b"")
    return folder / "bad.zip"


@kind
def zip_of_large_images(folder: Path) -> Path:
    out = io.BytesIO()
    PIL.Image.new("RGB", (4000, 4000)).save(out, "PNG")
    with zipfile.ZipFile(folder / "bad.zip", "w") as packed:
        for i in range(50):
            packed.writestr(f"a/{i}.png", out.getvalue())
    return folder / "bad.zip"
