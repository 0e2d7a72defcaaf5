"""Files of data sets on this machine: where they are looked for, and whether they are what was
published."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fedbench import plain_files
from fedbench.errors import MissingDataError, RecordError
from fedbench.places import data_root

LARGEST = 256 << 20  # bytes: the largest published file, STL-10's test images, has 221 MB
Files = dict[str, Path]
Download = Callable[[Path], None]
"""Fills a data root."""


def may_download() -> bool:
    """Nothing is fetched unless FEDBENCH_DOWNLOAD=1."""
    return os.environ.get("FEDBENCH_DOWNLOAD") == "1"


@dataclass(frozen=True, kw_only=True)
class Published:
    """A data set as its authors give it away, kept in one folder of the data root.

    `md5`: file name -> published sum of its content; None where nobody published one. `page`: where
    the files come from. `is_fetched`: whether FEDBENCH_DOWNLOAD=1 can get them.
    """

    name: str
    folder: str
    md5: Mapping[str, str | None]
    page: str
    is_fetched: bool = True

    def locate(self, root: Path, download: Download | None = None) -> Files:
        """File name -> path; fetched first if one is missing and there is a `download`.
        MissingDataError if not all are there."""
        folder = root / self.folder
        missing = [name for name in self.md5 if not (folder / name).is_file()]
        if not missing:
            return {name: folder / name for name in self.md5}
        if download is not None:
            download(root)
            return self.locate(root)
        found = f"has no {', '.join(missing)}" if folder.is_dir() else "no such folder"
        raise MissingDataError(
            f"data set {self.name}: not on this machine; looked in {folder} ({found}). Put the files of {self.page} there, or set "
            f"FEDBENCH_DATA to a folder that has {self.folder}{', or set FEDBENCH_DOWNLOAD=1 to fetch them' * self.is_fetched}"
        )

    def located(self, root: Path | None, download: Download) -> Files:
        """Returns the files below a given root, which is taken as it is. Without one they are those
        of this machine, and `download` fetches them if the user allows it."""
        return self.locate(data_root(), download if may_download() else None) if root is None else self.locate(root)

    def read(self, path: Path) -> bytes:
        """The content of one of the files. RecordError if it is not the published one, so nothing
        unknown is ever parsed."""
        content = plain_files.content(path, LARGEST, "data file", RecordError)
        expected = self.md5[path.name]
        got = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if expected is not None and got != expected:
            raise RecordError(f"{path}: md5 of the content must be {expected}, got {got}; fetch the file again from {self.page}")
        return content


def torchvision_download(name: str) -> Download:
    """Fetches torchvision's data set of that name into a root; it checks the sum of the archive and
    unpacks it."""

    def download(root: Path) -> None:
        import torchvision.datasets

        try:
            getattr(torchvision.datasets, name)(root=str(root), download=True)
        except (OSError, RuntimeError) as error:
            raise MissingDataError(f"data set {name}: torchvision could not download it into {root} ({error})") from error

    return download
