"""Findings of a check. Each is one line that names the file, the thing, its value and what was
expected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LONGEST = 500  # characters of a line
MOST = 20  # lines, since a hostile archive may have a million faults


@dataclass(frozen=True)
class Finding:
    """One thing that a check found about a file in the submission's folder. A question may name the
    ids of `runs` that answer it if they are run again with the same result."""

    file: str
    text: str
    runs: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """Returns the finding on one line, cut after LONGEST characters. It is not escaped yet."""
        whole = " ".join(f"{self.file}: {self.text}".split())
        return whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 2]}.."


class FaultsError(Exception):
    """The part that was checked has these faults, and the parts that depend on it cannot be
    checked."""

    def __init__(self, faults: Sequence[Finding]) -> None:
        super().__init__("; ".join(one.line for one in faults))
        self.faults = tuple(faults)


def fault(file: str, text: str) -> FaultsError:
    """Returns an error with a single fault."""
    return FaultsError([Finding(file, text)])


def few(found: Sequence[Finding]) -> list[Finding]:
    """Returns the first MOST findings, and one that says how many more there are."""
    if len(found) <= MOST:
        return list(found)
    rest = found[MOST:]
    runs = tuple(run for one in rest for run in one.runs) if all(one.runs for one in rest) else ()
    return [*found[:MOST], Finding(rest[0].file, f"and {len(rest):,} more", runs)]


def refuse(found: Iterable[Finding]) -> None:
    """Raises FaultsError if there are any faults."""
    faults = few(list(found))
    if faults:
        raise FaultsError(faults)
