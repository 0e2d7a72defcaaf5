"""Where data that is no part of the package lies on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def data_root() -> Path:
    """The folder that holds data sets, laid out as torchvision does, and traces of networks: $FEDBENCH_DATA, or ~/.cache/fedbench."""
    given = os.environ.get("FEDBENCH_DATA")
    return Path(given) if given else Path.home() / ".cache" / "fedbench"
