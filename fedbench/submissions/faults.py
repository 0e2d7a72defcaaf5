"""What a check says: one line each, that names the file, the thing, its value and what was
expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LONGEST = 500  # characters of a line
MOST = 20  # lines; a hostile archive has a million


@dataclass(frozen=True)
class Finding:
    """One thing that a check found. `file`: in the submission's folder."""

    file: str
    text: str

    @property
    def line(self) -> str:
        """Returns it on one line, as it stands: whoever shows it escapes it."""
        whole = " ".join(f"{self.file}: {self.text}".split())
        return whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 2]}.."


class FaultsError(Exception):
    """What was looked at has these faults, and nothing behind it can be looked at."""

    def __init__(self, faults: Sequence[Finding]) -> None:
        super().__init__("; ".join(one.line for one in faults))
        self.faults = tuple(faults)


def fault(file: str, text: str) -> FaultsError:
    """Returns the error of one fault."""
    return FaultsError([Finding(file, text)])


def few(found: Sequence[Finding]) -> list[Finding]:
    """Returns the first findings, and how many more there are."""
    if len(found) <= MOST:
        return list(found)
    return [*found[:MOST], Finding(found[MOST].file, f"and {len(found) - MOST:,} more")]
