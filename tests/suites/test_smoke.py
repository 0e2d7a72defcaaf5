"""The suite `smoke`, killed at random moments: what is left goes on to the same records, once
each."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedbench.results.store import Store

COMMAND = [
    sys.executable,
    "-c",
    "from fedbench.cli.main import main; main()",
    "suite",
    "run",
    "smoke",
    "--quiet",
    "-j",
    "2",
    "--store",
]
KILLS = 10


def results(store: Path) -> dict[str, str]:
    records = list(Store(store))
    assert len({record.run_id for record in records}) == len(records)
    return {record.run_id: record.digests.result for record in records}


@pytest.mark.slow
def test_a_suite_that_is_killed_ten_times(tmp_path: Path) -> None:
    """SIGKILL to the runner and its workers, at moments drawn over the time that the whole suite
    takes."""
    begin = time.monotonic()
    subprocess.run([*COMMAND, str(tmp_path / "whole")], check=True, capture_output=True)
    takes = time.monotonic() - begin
    whole = results(tmp_path / "whole")
    assert len(whole) == 24
    chance, cut = random.Random(7), 0
    for _ in range(KILLS):
        process = subprocess.Popen([*COMMAND, str(tmp_path / "killed")], stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(chance.uniform(0.3, 0.5) * takes)
        cut += process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    end = subprocess.run([*COMMAND, str(tmp_path / "killed")], check=True, capture_output=True, text=True)
    assert cut > 0, "no kill came in time"
    assert "24 of 24 runs have a record" in end.stderr
    assert results(tmp_path / "killed") == whole
    assert not list((tmp_path / "killed").glob("*/*/*.partial"))
    assert not list((tmp_path / "killed").glob("*/*/*.writing-*"))
