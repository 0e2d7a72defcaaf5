"""The error of several runs of which some failed."""

from __future__ import annotations

from collections.abc import Sequence

from fedbench import foreign
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError, UsageError
from fedbench.launch.records import Records


class RunsFailed(FedbenchError):
    """Some of several runs failed. `failures` has their specifications and errors, `records` the
    records of the others."""

    def __init__(self, records: Records, failures: Sequence[tuple[RunSpec, Exception]]) -> None:
        self.records, self.failures = records, tuple(failures)
        told = [line for lines, runs in _by_reason(failures).items() for line in (f"{', '.join(runs)}: {lines[0]}", *lines[1:])]
        super().__init__(f"{len(failures)} of {len(failures) + len(records) + len(records.elsewhere)} runs failed", *told)
        nothing_ran = not (len(records) or records.elsewhere)
        if nothing_ran and all(isinstance(error, UsageError) for _, error in failures):
            self.exit_code = UsageError.exit_code


def _by_reason(failures: Sequence[tuple[RunSpec, Exception]]) -> dict[tuple[str, ...], list[str]]:
    """Returns the runs that failed, by the lines of what is told of their errors: one mistake may
    end many."""
    found: dict[tuple[str, ...], list[str]] = {}
    for spec, error in failures:
        found.setdefault(tuple(foreign.told(error)), []).append(spec.named)
    return found
