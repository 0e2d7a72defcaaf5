"""A million clients, of whom few are ever seen."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

RUN = """
import json, sys, time
from fedbench import registry
from fedbench.engine.run import Run
from fedbench.engine.spec import RunSpec
from fedbench.process import peak_memory_mb
from fedbench.scenarios.load import load

overrides = [f"clients={sys.argv[1]}", "partition={kind: overlapping, examples_per_client: 40}", "local.steps=2",
             "task.model=softmax", "public=null", "budget={updates: 30, seconds: 1e6}", "evaluation.every_seconds=100"]
begin = time.process_time()
record = Run(RunSpec(load("digits-demo", overrides), registry.algorithm("fedavg[cohort_size=1000]"), 0)).record()
seconds = time.process_time() - begin
facts = record.meta["ledger"]
print(json.dumps({"seconds": seconds, "mb": peak_memory_mb(), "jobs": facts["jobs_consumed"], "final": record.meta["final"]}))
"""


def run(clients: int) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", RUN, str(clients)], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_absent_clients_cost_next_to_nothing() -> None:
    """Memory of arrays, and no more than a few microseconds of a processor for each in a whole
    run."""
    few, many = run(2_000), run(1_000_000)
    assert few["jobs"] == many["jobs"] == 30_000
    assert many["mb"] < few["mb"] + 700
    assert many["seconds"] < few["seconds"] + 10
    assert isinstance(many["final"], dict)
    assert many["final"]["test_accuracy"] > 0.8
