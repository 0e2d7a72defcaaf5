"""How other Pythons are started, and facts about this process from the operating system."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PYTHON = (sys.executable, "-P")
"""The command of another Python, which imports nothing from the working directory."""


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Sets the environment in which a Python that a library starts is like `PYTHON`."""
    before = os.environ.get("PYTHONSAFEPATH", "")  # an empty one counts as none
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        os.environ["PYTHONSAFEPATH"] = before


def peak_memory_mb() -> float | None:
    """Returns the peak resident memory of this process in MB (2^20 bytes), or None where there is
    no /proc.

    getrusage is not used, since it also counts what the parent process had when it started this
    one.
    """
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    except OSError:
        return None
    return int(found.group(1)) / 1024 if found else None
