"""What the operating system says about this process."""

from __future__ import annotations

import re
from pathlib import Path


def peak_memory_mb() -> float | None:
    """Peak resident memory of this process in MB (2^20 bytes), from Linux's /proc; None elsewhere.

    getrusage would also count what the parent process had when it started this one.
    """
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return None
    return int(found.group(1)) / 1024 if found else None
