"""A watcher that writes the points of curves as lines of a CSV file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from fedbench.errors import UsageError
from fedbench.launch.watch import Evaluation, WatchedRun, Watcher
from fedbench.results.sections import METRICS

COLUMNS = ("run_id", "scenario", "algorithm", "seed", "point", "seconds", "version", *METRICS)


class Csv(Watcher):
    """Appends a line for every evaluation, whole and at once. Lines that are in the file stay: a
    run that is computed again adds the same lines again. All runs of a file have the same metrics,
    which its header names."""

    def __init__(self, where: str) -> None:
        """Opens the file. What a killed process left of a last line is cut off. UsageError if the
        file has other columns."""
        first = _line(COLUMNS)[:-1]
        self._file = Path(where).open("a+b", buffering=0)  # noqa: SIM115
        self._file.seek(0)
        content = self._file.read()
        if not content.startswith((first + b"\n", first + b",")) and not first.startswith(content):
            self._file.close()
            raise UsageError(f"watch 'csv:{where:.300}': the file is there and has other columns; name another one")
        self._file.truncate(content.rfind(b"\n") + 1)
        self._header = content[: content.find(b"\n") + 1]

    def on_evaluation(self, run: WatchedRun, evaluation: Evaluation) -> None:
        """Writes the header before the first line. UsageError if the run has other metrics than
        the header."""
        spec, others = run.spec, dict(evaluation.others)
        header = _line((*COLUMNS, *others))
        if not self._header:
            self._file.write(header)
            self._header = header
        if header != self._header:
            self.on_close()
            names = self._header.decode().split(",")[len(COLUMNS) :]
            raise UsageError(f"the file has columns for {_named(names)} beside accuracy and losses, the run has {_named(others)}")
        values = [*(getattr(evaluation, name) for name in METRICS), *others.values()]
        metrics = ["" if np.isnan(value) else str(np.float32(value)) for value in values]
        named = (spec.run_id, spec.scenario.name, spec.selector, spec.seed)
        self._file.write(_line((*named, evaluation.point, evaluation.seconds, evaluation.version, *metrics)))

    def on_close(self) -> None:
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()


def _named(names: Iterable[str]) -> str:
    return ", ".join(name.strip() for name in names) or "nothing"


def _line(cells: tuple[object, ...]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()
