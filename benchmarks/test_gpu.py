"""What a card will be asked, asked of a CPU: `benchmarks/gpu/run.sh` with DRY=1."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("gpu") / "run.sh"
NEED_A_CARD = {"gpu_tests", "memcheck", "racecheck", "initcheck", "synccheck"}


@pytest.mark.slow
def test_the_script_runs_dry(tmp_path: Path) -> None:
    if shutil.which("cmake") is None or shutil.which("ninja") is None:
        pytest.skip("skipped: no cmake or no ninja")
    environment = os.environ | {"DRY": "1", "PYTHON": sys.executable}
    ran = subprocess.run(["bash", SCRIPT, tmp_path], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]
    parts = dict(line.split("\t")[:2] for line in (tmp_path / "parts.tsv").read_text().splitlines())
    assert {name for name, status in parts.items() if status == "skipped: no card"} == NEED_A_CARD
    assert {status for name, status in parts.items() if name not in NEED_A_CARD} == {"ok"}
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert {row["part"] for row in rows} == {"poisoned", "timings", "training", "runs"}
    assert "equal digests" in {row["measured"] for row in rows}
    assert all(row["what"] in (tmp_path / "dry.md").read_text() for row in rows)


@pytest.mark.slow
def test_without_a_build_the_script_ends_and_says_so(tmp_path: Path) -> None:
    environment = os.environ | {"DRY": "1", "PYTHON": "/bin/false"}
    ran = subprocess.run(["bash", SCRIPT, tmp_path], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert [line.split("\t")[:2] for line in (tmp_path / "parts.tsv").read_text().splitlines()] == [
        ["environment", "failed"],
        ["build", "failed"],
    ]
