"""Runs that are killed leave nothing wrong; FEDBENCH_KILLS says how many are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_what_is_killed_is_finished_by_the_next_run(tmp_path: Path) -> None:
    count = int(os.environ.get("FEDBENCH_KILLS", "24"))
    command = [sys.executable, str(Path(__file__).with_name("kills.py")), str(tmp_path / "stores"), str(count)]
    result = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    told = json.loads(result.stdout[result.stdout.index("{") :])
    assert sum(told["kills"].values()) == count
    assert told["under way"] > count // 4
    assert len(told["kills"]) == min(8, count)
