"""Arrays of .npz in parts, whatever their order in memory, and what is no such file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.tasks.own import npz
from fedbench.tasks.own.choice import Wanted

from .reading_here import read

Y = np.arange(20) % 2


def save(folder: Path, **arrays: Any) -> Path:
    np.savez_compressed(folder / "mine.npz", **arrays)
    return folder / "mine.npz"


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("batch", [1, 100, 1 << 20])
def test_parts_make_the_whole(tmp_path: Path, order: Any, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "BATCH_BYTES", batch)
    x = np.arange(20 * 3 * 2, dtype=np.float64).reshape(20, 3, 2)
    found = read(save(tmp_path, x=np.asarray(x, order=order), y=Y), "train", Wanted("y"))
    assert found.x.tolist() == x.tolist()
    assert found.labels.codes.tolist() == Y.tolist()
    both = read(save(tmp_path, x=x[:, 0], z=np.asfortranarray(x[:, 1]), y=Y), "train", Wanted("y"))
    assert both.x.tolist() == x[:, :2].reshape(20, 4).tolist()


def test_unused_arrays_are_not_looked_at(tmp_path: Path) -> None:
    file = save(tmp_path, x=np.zeros(20), y=Y, meta=np.array("v1"), names=np.array([{}] * 3, dtype=object), short=np.zeros(2))
    assert read(file, "train", Wanted("y", features=("x",))).features == ("x",)
    with pytest.raises(UsageError, match="column names holds Python objects, which are not read"):
        read(file, "train", Wanted("y", features=("names",)))
    with pytest.raises(UsageError, match="its arrays must have one length, got short 2, y 20"):
        read(file, "train", Wanted("y", features=("short",)))


def header(text: str) -> bytes:
    return b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text.encode()


ABOUT = "{{'descr': '<f8', 'fortran_order': False, 'shape': {}}}\n"


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (header("(" * 5000 + ")" * 5000), "cannot be read as .npz: "),
        (header("(" * 40_000 + ")" * 40_000), "cannot be read as .npz: "),
        (header(ABOUT.format("(20,)") + " " * 1_000_000), "cannot be read as .npz: "),
        (header(ABOUT.format("(20, 10000000000)")), "unpack to 1,600,000,000,160, expected at most "),
        (header(ABOUT.format("(20, -1)")), "cannot be read as .npz: "),
        (header(ABOUT.format("(20, 100000000000000000000)")), "cannot be read as .npz: shape"),
        (header(ABOUT.format("(20,)")), "cannot be read as .npz: array x ends early"),
        (
            header("{'descr': [('\x1b[2J', '<f8')], 'fortran_order': False, 'shape': (20,)}\n") + bytes(160),
            "must be numbers, got ",
        ),
        (b"\x93NUMPY\x03\x00" + b"\0" * 20, r"version \(3, 0\) of the format"),
        (b"\x80\x04N.", "cannot be read as .npz: "),
    ],
)
def test_headers_that_are_none(tmp_path: Path, member: bytes, message: str) -> None:
    file = save(tmp_path, y=Y)
    with zipfile.ZipFile(file, "a") as packed:
        packed.writestr("x.npy", member)
    with pytest.raises(UsageError, match=message) as error:
        read(file, "train", Wanted("y"))
    assert str(error.value).isprintable()


@pytest.mark.parametrize(("at", "value", "message"), [(8, 99, "compression method"), (6, 1, "encrypted")])
def test_members_that_zipfile_cannot_unpack(tmp_path: Path, at: int, value: int, message: str) -> None:
    content = bytearray(save(tmp_path, x=np.zeros(20), y=Y).read_bytes())
    for begin, more in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        place = -1
        while (place := content.find(begin, place + 1)) >= 0:
            content[place + at + more] = value
    (tmp_path / "mine.npz").write_bytes(content)
    with pytest.raises(UsageError, match=f"cannot be read as .npz: .*{message}"):
        read(tmp_path / "mine.npz", "train", Wanted("y"))


def test_many_members_are_counted_before_they_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz, "MOST_ARRAYS", 50)
    file = tmp_path / "mine.npz"
    with zipfile.ZipFile(file, "w") as packed:
        for i in range(51):
            packed.writestr(f"m{i}.npy", b"")
    with pytest.raises(UsageError, match="expected at most 50 arrays, got 51"):
        read(file, "train", Wanted("y"))


def test_names_of_the_file_are_shown_with_escapes(tmp_path: Path) -> None:
    out = io.BytesIO()
    np.save(out, Y)
    with zipfile.ZipFile(tmp_path / "mine.npz", "w") as packed:
        packed.writestr("y.npy", out.getvalue())
        packed.writestr("a\x1b[2J\nb.npy", b"junk")
    with pytest.raises(UsageError, match=r"its columns are y, a\\x1b\[2J\\nb"):
        read(tmp_path / "mine.npz", "train", Wanted("z"))
