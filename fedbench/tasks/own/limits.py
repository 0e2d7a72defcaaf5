"""How much memory a data set may take, by the size of its files and that of this machine.

A small file can unpack to anything. A file that truly holds much is large, so what is read may have
TIMES the bytes of the files, or a floor for small files, and at most what the machine has free.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from fedbench.errors import UsageError, shown

FLOOR = 128 << 20  # bytes that any data set may take
TIMES = 100
CPU_SECONDS = 6.0  # for small files, and more for every
CPU_SECONDS_PER_MB = 1.0


@dataclass(frozen=True)
class Limits:
    """The limits for a data set whose files have so many bytes on disk."""

    path: Path
    bytes: int

    @property
    def most(self) -> int:
        """The most bytes that the examples may take."""
        return min(max(FLOOR, TIMES * self.bytes), _free() * 3 // 4)

    @property
    def reader_bytes(self) -> int:
        """The memory that a reader may take beside that of the libraries and the examples."""
        return (256 << 20) + min(8 * self.bytes, self.most)

    @property
    def cpu_seconds(self) -> int:
        return int(CPU_SECONDS + CPU_SECONDS_PER_MB * self.bytes / 1e6)

    def unpacked(self, count: int) -> None:
        """Raises UsageError if so many bytes are more than the data set may take."""
        if count > self.most:
            raise UsageError(
                f"task file {shown(self.path)}: its {self.bytes:,} bytes unpack to {count:,}, expected at most {self.most:,} "
                f"({FLOOR >> 20} MiB or {TIMES} times its size, and what this machine has free); name fewer task.features, or, if it is "
                "meant, write it without compression"
            )


def _free() -> int:
    """Returns the bytes of memory that this machine has available; a tebibyte where it does not
    say."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return 1024 * int(found[1]) if found else 1 << 40
