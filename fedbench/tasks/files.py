"""Finds the files of published data sets on this machine, and checks that they are the published
ones."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fedbench import extras, plain_files
from fedbench.errors import MissingDataError, RecordError
from fedbench.places import data_root

LARGEST = 256 << 20  # bytes: the largest published file, STL-10's test images, has 221 MB
Files = dict[str, Path]
Download = Callable[[Path], None]
"""A function that fetches the files of a data set into a data root."""


def may_download() -> bool:
    """Returns whether files may be fetched: only if FEDBENCH_DOWNLOAD=1."""
    return os.environ.get("FEDBENCH_DOWNLOAD") == "1"


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published data set, whose files are in one folder of the data root.

    `md5` has the published sum of every file, by name; None if nobody published one. `page` says
    where the files come from, and `is_fetched` whether FEDBENCH_DOWNLOAD=1 can fetch them.
    """

    name: str
    folder: str
    md5: Mapping[str, str | None]
    page: str
    is_fetched: bool = True

    def locate(self, root: Path, download: Download | None = None) -> Files:
        """Returns the files below a data root, by name. If one is missing, `download` fetches them
        first. MissingDataError if that is not given."""
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
        """Returns the files, by name, below a given root, where nothing is fetched. For None it is
        the data root of this machine, and `download` fetches them if the user allows it."""
        return self.locate(data_root(), download if may_download() else None) if root is None else self.locate(root)

    def read(self, path: Path) -> bytes:
        """Returns the content of one of the files. RecordError if it is not the published one, so
        that nothing unknown is parsed."""
        content = plain_files.content(path, LARGEST, "data file", RecordError)
        expected = self.md5[path.name]
        got = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if expected is not None and got != expected:
            raise RecordError(f"{path}: md5 of the content must be {expected}, got {got}; fetch the file again from {self.page}")
        return content


def torchvision_download(dataset: str, name: str = "", remedy: str = "") -> Download:
    """Returns a function that fetches torchvision's `dataset`. torchvision checks the sum of the
    archive and unpacks it. `name` is that of the data set in messages, if it is another one, and
    `remedy` their end."""
    name = name or dataset

    def download(root: Path) -> None:
        extras.require("torch", f"fetching data set {name}", "torchvision")
        import torchvision.datasets

        try:
            getattr(torchvision.datasets, dataset)(root=str(root), download=True)
        except (OSError, RuntimeError) as error:
            raise MissingDataError(f"data set {name}: torchvision could not download it into {root} ({error}){remedy}") from error

    return download
