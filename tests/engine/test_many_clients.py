"""A million clients, of whom few are ever seen at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fedbench import places

HEADER = "duration_seconds,megabit_per_second,latency_seconds"
STATE_MB = 30_000 * 650 * 4 / 2**20
"""Of all clients that take part in 30 rounds of a thousand: a vector of softmax regression each."""

RUN = """
import json, sys, time
from fedbench import registry
from fedbench.engine.run import Run
from fedbench.engine.spec import RunSpec
from fedbench.process import peak_memory_mb
from fedbench.scenarios.load import load

clients, algorithm, *more = sys.argv[1:]
overrides = [f"clients={clients}", "partition={kind: overlapping, examples_per_client: 40}", "local.steps=2",
             "task.model=softmax", "public=null", "budget={updates: 30, seconds: 1e6}", "evaluation.every_seconds=100", *more]
begin = time.process_time()
record = Run(RunSpec(load("digits-demo", overrides), registry.algorithm(f"{algorithm}[cohort_size=1000]"), 0)).record()
seconds = time.process_time() - begin
facts = record.ledger.as_dict()
print(json.dumps({"seconds": seconds, "mb": peak_memory_mb(), "jobs": facts["jobs_consumed"],
                  "accuracy": record.final.test_accuracy}))
"""


def run(clients: int, algorithm: str = "fedavg", *overrides: str) -> dict[str, float]:
    command = [sys.executable, "-c", RUN, str(clients), algorithm, *overrides]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold"])
def test_absent_clients_cost_next_to_nothing(algorithm: str) -> None:
    """Memory of arrays, and no more than a few microseconds of a processor for each in a whole run.
    Clients that carry state have it once they took part."""
    few, many = run(2_000, algorithm), run(1_000_000, algorithm)
    assert few["jobs"] == many["jobs"] == 30_000
    assert many["mb"] < few["mb"] + 700 + (algorithm == "scaffold") * STATE_MB
    assert many["seconds"] < few["seconds"] + 10
    assert many["accuracy"] > 0.8


@pytest.mark.slow
def test_with_measured_links_and_absences(tmp_path: Path) -> None:
    """A round ends after a minute, whoever is still at work."""
    (tmp_path / "links").mkdir()
    for number in range(5):
        pieces = (f"{1 + (number + row) % 7},{0.2 * (row % 5)},0.05" for row in range(50))
        (tmp_path / "links" / f"{number}.csv").write_text("\n".join([HEADER, *pieces, ""]))
    links = tmp_path / "links"
    found = run(
        1_000_000,
        "fedavg",
        f"network={{message: payload, trace: {{folder: {links}, sha256: {places.sha256(links)}}}}}",
        "availability={kind: alternating, mean_on_seconds: 600, mean_off_seconds: 1800}",
        "rounds={deadline_seconds: 60}",
        "budget.updates=200",
    )
    assert 150_000 < found["jobs"] <= 200_000
    assert found["mb"] < 1_000
    assert found["accuracy"] > 0.8
