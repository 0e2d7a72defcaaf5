"""Real data: Fashion-MNIST with the 21,840-parameter CNN, dropout and all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fedbench import registry
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.tasks.fashion_mnist import DEBIAN

pytestmark = [
    pytest.mark.fashion,
    pytest.mark.skipif(not Path(DEBIAN).is_dir(), reason="needs Debian's package dataset-fashion-mnist"),
]
BASE = ["task.model=cnn_21840", "evaluation.every_seconds=1000"]


def run(selector: str, overrides: list[str], store: Store | None = None, **options: Any) -> Record:
    spec = RunSpec(load("defedavg-fashion-two-class", [*BASE, *overrides]), registry.algorithm(selector), 0)
    return Run(spec, store, RunOptions(**options)).record()


def test_workers_and_waves_change_no_digest() -> None:
    overrides = ["budget.updates=3", "local.steps=4"]
    wanted = run("fedbuff[buffer_size=3,local_lr=0.03]", overrides, wave_size=1).digests
    assert run("fedbuff[buffer_size=3,local_lr=0.03]", overrides, workers=2).digests == wanted


@pytest.mark.slow
def test_killed_half_way_and_resumed(tmp_path: Path) -> None:
    """1 and 2 workers, wave size 1 and unlimited, and SIGKILL with a resume: the same digests;
    verify says identical."""
    selector, overrides = "fedbuff[buffer_size=10,local_lr=0.03]", ["budget.updates=40", "local.steps=10"]
    records = [run(selector, overrides, workers=w, wave_size=size) for w, size in ((1, 1), (1, None), (2, 1), (2, None))]
    command = [
        sys.executable,
        "-c",
        "from fedbench.cli.main import main; main()",
        "run",
        "defedavg-fashion-two-class",
        "-a",
        selector,
    ]
    command += [part for override in [*BASE, *overrides] for part in ("--set", override)]
    process = subprocess.Popen([*command, "--store", str(tmp_path), "--checkpoint-seconds", "0"])
    checkpoints, limit = 0, time.monotonic() + 300
    last = b""
    while checkpoints < 4 and process.poll() is None and time.monotonic() < limit:
        files = list(tmp_path.glob("*/*/*.partial/checkpoint.bin"))
        content = files[0].read_bytes() if files else b""
        checkpoints, last = checkpoints + (content != last), content
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert Store(tmp_path).unfinished()
    subprocess.run([*command, "--store", str(tmp_path), "--resume", "--workers", "2"], check=True)
    (resumed,) = list(Store(tmp_path))
    assert {tuple(r.digests.as_dict().items()) for r in [*records, resumed]} == {tuple(resumed.digests.as_dict().items())}
    assert verify(resumed).verdict == "identical"
