"""What is said when a store's disk refuses a result, such as one that is full."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from fedbench.errors import FedbenchError


@contextlib.contextmanager
def storing(root: Path, checkpoint: Path) -> Iterator[None]:
    """Turns an OSError of a file below `root` into a FedbenchError that says which result is lost
    and how to get it again: from the `checkpoint`, if that file is there."""
    try:
        yield
    except OSError as error:
        file = os.fsdecode(error.filename or "")
        if root not in Path(file).parents:
            raise
        on = "goes on from the last checkpoint" if checkpoint.exists() else "begins again"
        raise FedbenchError(
            f"store {root}: {error.strerror}: {file}; the result of this run is lost. Make room and give the same command again "
            f"(`fedbench run` with --resume): it {on}"
        ) from error
