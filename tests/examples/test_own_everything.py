"""The example in which everything is one's own: it runs from an empty folder, and its records can
be verified."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fedbench as fb
from fedbench.engine.verify import verify

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPT = EXAMPLES / "own_everything.py"


def test_it_is_short() -> None:
    lines = SCRIPT.read_text().split('"""', 2)[2].splitlines()
    assert len([line for line in lines if line and not line.startswith(("from", "import"))]) <= 40


@pytest.mark.slow
@pytest.mark.extra("torch")
@pytest.mark.extra("frame")
@pytest.mark.extra("plot")
def test_it_tunes_races_draws_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = subprocess.run([sys.executable, str(SCRIPT)], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "options are the defaults" not in ran.stdout
    assert re.search(r"race on writers: . of 2 rows are left", ran.stdout)
    plan = json.loads((tmp_path / "runs/race-writers/plan.json").read_text())
    assert plan["rungs"], "both algorithms were tuned"
    assert (tmp_path / "writers.pdf").read_bytes().startswith(b"%PDF")
    table = (tmp_path / "writers.tex").read_text()
    assert r"\begin{tabular}" in table
    assert [name for name in ("damped", "fedbuff") if name not in table.lower()] == []
    monkeypatch.chdir(tmp_path)  # where the data are
    record = next(one for one in fb.Records.load("runs/race-writers") if one.spec.algorithm.name == "damped")
    named = {"algorithm": f"{SCRIPT}:Damped", "model": f"{SCRIPT}:Net", "optimizer": f"{SCRIPT}:AdaGrad"}
    found = verify(
        record,
        algorithm=named["algorithm"],
        model=named["model"],
        optimizer=named["optimizer"],
        metrics=[f"{SCRIPT}:WorstRecall"],
    )
    assert found.verdict == "identical"
