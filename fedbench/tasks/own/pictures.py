"""Decodes images, such as PNG and JPEG, into numbers from 0 to 1."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fedbench import extras
from fedbench.errors import UsageError, one_line, shown
from fedbench.tasks.own.columns import Floats, Place
from fedbench.tasks.own.limits import Limits
from fedbench.types import Array

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
GREY, COLOUR = {"1", "L", "LA"}, {"P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"}
LARGEST_IMAGE = 64 << 20  # bytes, of a file
MOST_PIXELS = 16 << 20


@dataclass
class Pictures:
    """Decodes the images of one data set, which all have the size of the first one, and its number
    of channels: one if it is grey, three if it has colours. Transparency is left out."""

    limits: Limits
    _size: tuple[int, int] | None = None
    _mode: str = "L"
    _seen: int = 0

    def decoded(self, contents: Iterable[bytes], place: Place) -> Floats:
        """Returns images (n, channels, height, width), value / 255. UsageError names the row of
        what is no image, or of one that differs."""
        extras.require("image", "reading images")
        found = []
        for row, content in enumerate(contents):
            try:
                found.append(self._one(content))
            except UsageError:
                raise
            except Exception as error:  # Pillow's plugins raise anything for damaged images
                why = (
                    f"it is none of {', '.join(FORMATS)}"
                    if type(error).__name__ == "UnidentifiedImageError"
                    else shown(one_line(error)) or type(error).__name__
                )
                raise place.error(f"cannot be decoded as an image: {why}", row) from None
        return (
            np.ascontiguousarray(np.stack(found).astype(np.float32) / np.float32(255))
            if found
            else np.empty((0, 1, 1, 1), np.float32)
        )

    def _one(self, content: bytes) -> Array:
        import PIL.Image

        if len(content) > LARGEST_IMAGE:
            raise ValueError(f"expected at most {LARGEST_IMAGE:,} bytes, got {len(content):,}")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with PIL.Image.open(io.BytesIO(content), formats=FORMATS) as image:
                if self._size is None:
                    self._begin(image.size, image.mode)
                if image.size != self._size:
                    raise ValueError(
                        f"expected {_text(self._size)} pixels, as the first image has, got {_text(image.size)}; resize them"
                    )
                if image.mode not in GREY | COLOUR:
                    raise ValueError(f"expected grey or colours of 8 bits, got mode {image.mode}")
                self._seen += 1
                self.limits.unpacked(self._seen * image.size[0] * image.size[1] * (4 if self._mode == "L" else 12))
                pixels = np.asarray(image.convert(self._mode), np.uint8)
        return pixels[None] if self._mode == "L" else pixels.transpose(2, 0, 1)

    def _begin(self, size: tuple[int, int], mode: str) -> None:
        if size[0] * size[1] > MOST_PIXELS:
            raise ValueError(f"expected at most {MOST_PIXELS:,} pixels, got {_text(size)}")
        self._size, self._mode = size, "L" if mode in GREY else "RGB"


def _text(size: tuple[int, int] | None) -> str:
    return "none" if size is None else f"{size[0]} x {size[1]}"
