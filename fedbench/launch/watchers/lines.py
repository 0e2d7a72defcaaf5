"""A watcher that writes the points of curves as lines of a CSV file."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np

from fedbench.errors import UsageError
from fedbench.launch.watch import Evaluation, WatchedRun, Watcher
from fedbench.results.sections import METRICS

COLUMNS = ("run_id", "scenario", "algorithm", "seed", "point", "seconds", "version", *METRICS)


class Csv(Watcher):
    """Appends a line for every evaluation, whole and at once. Lines that are in the file stay: a
    run that is computed again adds the same lines again."""

    def __init__(self, where: str) -> None:
        """Opens the file, and writes the header if it is new. What a killed process left of a last
        line is cut off. UsageError if the file has other columns."""
        header = _line(COLUMNS)
        self._file = Path(where).open("a+b", buffering=0)  # noqa: SIM115
        self._file.seek(0)
        content = self._file.read()
        if content and not content.startswith(header) and not header.startswith(content):
            self._file.close()
            raise UsageError(f"watch 'csv:{where:.300}': the file is there and has other columns; name another one")
        self._file.truncate(content.rfind(b"\n") + 1)
        if not content.startswith(header):
            self._file.write(header)

    def on_evaluation(self, run: WatchedRun, evaluation: Evaluation) -> None:
        spec = run.spec
        metrics = ["" if np.isnan(value := getattr(evaluation, name)) else str(np.float32(value)) for name in METRICS]
        named = (spec.run_id, spec.scenario.name, spec.selector, spec.seed)
        self._file.write(_line((*named, evaluation.point, evaluation.seconds, evaluation.version, *metrics)))

    def on_close(self) -> None:
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()


def _line(cells: tuple[object, ...]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()
