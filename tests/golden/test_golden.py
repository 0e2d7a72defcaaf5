"""Two short runs kept as files: the plan of one, the digests and the curve of the other. `make
golden` writes them again.

The plan is the same on every machine; accuracy and loss, which depend on the library version, are
compared to 1e-6.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from fedbench import registry
from fedbench.engine.plan import plan
from fedbench.engine.run import Run
from fedbench.engine.spec import RunSpec
from fedbench.kernels.scheduler import Duration, Scheduler, Timing
from fedbench.scenarios.load import load
from fedbench.types import Broadcast, Rounds, Stream

FILE = Path(__file__).with_name("golden.json")


def short_plan() -> list[list[Any]]:
    """Drawn durations of every kind, ten updates a policy: time and consumed (client, k, base) of
    every update."""
    rows: list[list[Any]] = []
    for kind, dispatch in (
        ("uniform", Rounds(select="without_replacement", cohort_size=3)),
        ("exponential", Rounds(select="with_replacement", cohort_size=3)),
        ("lognormal", Stream(concurrency=4, buffer_size=2)),
        ("pareto", Broadcast(buffer_size=2)),
    ):
        timing = Timing(
            clients=7, seed=11, compute=Duration(kind=kind, a=1.0, b=2.0), download=Duration.constant(0.1), max_updates=10
        )  # type: ignore[arg-type]
        chunk = Scheduler(timing, dispatch).next()
        for u, time in enumerate(chunk.time.tolist()):
            jobs = chunk.entries[chunk.offsets[u] : chunk.offsets[u + 1]]
            rows.append([kind, time, *np.stack([chunk.client[jobs], chunk.k[jobs], chunk.base[jobs]]).T.tolist()])
    return rows


def short_run() -> dict[str, Any]:
    """FedBuff on digits for five virtual seconds."""
    spec = RunSpec(
        load("digits-demo", ["budget.seconds=5", "task.model=softmax"]), registry.algorithm("fedbuff[buffer_size=3]"), 0
    )
    record = Run(spec).record()
    return {
        "run_id": spec.run_id,
        "inputs": record.digests.inputs,
        "plan": record.digests.plan,
        "plan_alone": plan(spec).plan_digest,
        "updates": record.ledger.updates,
        "test_accuracy": record.curves["test_accuracy"].tolist(),
        "train_loss": record.curves["train_loss"].tolist(),
    }


def test_golden() -> None:
    got = {"plan": short_plan(), "run": short_run()}
    if os.environ.get("FEDBENCH_WRITE_GOLDEN"):
        FILE.write_text(json.dumps(got, indent=1) + "\n")
    want = json.loads(FILE.read_text())
    assert json.loads(json.dumps(got["plan"])) == want["plan"]
    for name, value in want["run"].items():
        if isinstance(value, list):
            assert np.allclose(got["run"][name], value, rtol=1e-6, atol=1e-6), name
        else:
            assert got["run"][name] == value, name
    assert want["run"]["plan"] == want["run"]["plan_alone"]
