"""Facts about this process from the operating system."""

from __future__ import annotations

import re
from pathlib import Path


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
