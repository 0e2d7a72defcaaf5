"""Images in columns, as hubs give MNIST, CIFAR and FEMNIST: bytes, or bytes with a path."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedbench.errors import UsageError
from fedbench.tasks.own.arrow_columns import ArrowColumn
from fedbench.tasks.own.choice import Wanted
from fedbench.tasks.own.columns import Floats, Place
from fedbench.tasks.own.limits import Limits
from fedbench.tasks.own.pictures import Pictures

from .reading_here import read

RANDOM = np.random.default_rng(0)


def packed(pixels: Any, mode: str, kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    PIL.Image.fromarray(pixels).convert(mode).save(out, kind)
    return out.getvalue()


def decoded(*contents: bytes, size: int = 1000) -> Floats:
    return Pictures(Limits(Path("mine"), size)).decoded(contents, Place("mine", "image", 3))


def test_grey_images_have_one_channel_and_colours_three() -> None:
    grey, colours = RANDOM.integers(0, 256, (5, 4), np.uint8), RANDOM.integers(0, 256, (5, 4, 3), np.uint8)
    found = decoded(packed(grey, "L"))
    assert (found.shape, found.dtype) == ((1, 1, 5, 4), np.float32)
    assert np.array_equal(found[0, 0], grey.astype(np.float32) / np.float32(255))
    for mode in ("RGB", "RGBA"):
        found = decoded(packed(colours, mode), packed(grey, "L"))
        assert np.array_equal(found[0], colours.transpose(2, 0, 1).astype(np.float32) / np.float32(255))
        assert np.array_equal(found[1], np.stack([grey] * 3).astype(np.float32) / np.float32(255))
    assert decoded(packed(grey, "L"), packed(colours, "RGB")).shape == (2, 1, 5, 4)


@pytest.mark.parametrize("form", ["struct", "struct without path", "binary", "large binary", "saved"])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "BMP", "WEBP", "TIFF"])
def test_columns_as_hubs_have_them(form: str, kind: str, tmp_path: Path) -> None:
    contents = [packed(RANDOM.integers(0, 256, (8, 8, 3), np.uint8), "RGB", kind) for _ in range(6)]
    rows: Any = [{"bytes": one, "path": f"{i}.png"} for i, one in enumerate(contents)]
    if form == "struct without path":
        rows = [{"bytes": one} for one in contents]
    elif "binary" in form:
        rows = pa.array(contents, pa.binary() if form == "binary" else pa.large_binary())
    table = pa.table({"image": rows, "label": [0, 1] * 3})
    if form == "saved":
        with pa.ipc.new_stream(tmp_path / "a.arrow", table.schema) as stream:
            stream.write_table(table)
        (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "a.arrow"}]}')
        path = tmp_path
    else:
        path = tmp_path / "mine.parquet"
        pq.write_table(table, path, row_group_size=2)
    assert np.array_equal(read(path, "train", Wanted("label")).x, decoded(*contents))


def png_of(width: int, height: int) -> bytes:
    """A PNG whose header says this size, and which ends soon after."""
    header = b"IHDR" + width.to_bytes(4) + height.to_bytes(4) + b"\x08\x00\x00\x00\x00"
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0d" + header + zlib.crc32(header).to_bytes(4) + b"\x00\x00\x00\x00IDAT"


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ([b""], "row 3 cannot be decoded as an image: it is none of PNG, JPEG"),
        ([b"\x80\x04N."], "row 3 cannot be decoded as an image"),
        ([b"<svg></svg>"], "row 3 cannot be decoded as an image"),
        (
            [packed(RANDOM.integers(0, 256, (60, 60), np.uint8), "L")[:200]],
            "row 3 cannot be decoded as an image: image file is truncated",
        ),
        (
            [packed(np.zeros((9, 9), np.uint8), "L"), packed(np.zeros((9, 8), np.uint8), "L")],
            "row 4 .* expected 9 x 9 pixels, .* got 8 x 9",
        ),
        ([png_of(1 << 30, 1 << 30)], "row 3 cannot be decoded as an image: .*(pixels|decompression bomb)"),
        ([png_of(5000, 5000)], "row 3 cannot be decoded as an image: expected at most 16,777,216 pixels, got 5000 x 5000"),
        ([packed(np.zeros((9, 9), np.int32), "I", "TIFF")], "row 3 .* expected grey or colours of 8 bits, got mode I"),
        ([packed(np.zeros((2000, 2000), np.uint8), "L")] * 9, "unpack to 144,000,000, expected at most 134,217,728"),
    ],
)
def test_what_is_no_image(contents: list[bytes], message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        decoded(*contents)
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"bytes": None, "path": "/etc/passwd"}],
            "row 3 has an image without its bytes, only with a path, which is not followed",
        ),
        ([{"bytes": b"x", "path": None}, None], "row 4 is empty"),
        ([[{"bytes": b"x"}]], "must have one image in a row, got lists of them"),
        ([{"path": "a"}], "must be numbers, images or lists of one length of them, got struct"),
        ([{"bytes": "text"}], "must be numbers, images or lists of one length of them, got struct"),
    ],
)
def test_columns_that_hold_no_images(rows: list[Any], message: str) -> None:
    column = ArrowColumn(pa.array(rows), Place("mine", "image", 3), Pictures(Limits(Path("mine"), 1000)))
    with pytest.raises(UsageError, match=message):
        column.numbers()
