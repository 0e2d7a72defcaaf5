"""Kills `fedbench tune` in the middle."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

COMMAND = [sys.executable, "-c", "from fedbench.cli.main import main; main()", "tune"]


def check_kills(suite: str, moments: Iterable[int]) -> None:
    """Checks that `fedbench tune` of a suite's file in this folder gives the same files if it gets
    SIGKILL when the store has so many records, counted from its end if negative, and at six other
    moments."""
    command = [*COMMAND, suite, "--quiet", "-o", "tuned"]
    subprocess.run([*command, "--store", "whole"], check=True, capture_output=True)
    whole = {file.name: file.read_bytes() for file in Path("tuned").iterdir()}
    for file in Path("tuned").iterdir():
        file.unlink()
    count, chance, cut = _records("whole"), random.Random(46), 0
    for records in sorted({*(one if one >= 0 else count + 1 + one for one in moments), *chance.sample(range(count), 6)}):
        process = subprocess.Popen([*command, "--store", "killed"], stderr=subprocess.DEVNULL, start_new_session=True)
        while process.poll() is None and _records("killed") < records:
            time.sleep(0.002)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            cut += 1
        process.wait()
    subprocess.run([*command, "--store", "killed"], check=True, capture_output=True)
    assert cut >= 5, "too few kills came in time"
    assert {file.name: file.read_bytes() for file in Path("tuned").iterdir()} == whole


def _records(store: str) -> int:
    return len(list(Path(store).glob("*/*/*/record.json")))
