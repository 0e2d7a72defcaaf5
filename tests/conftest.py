"""Records as a run would leave them, with only what a test cares about given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from fedbench.results.record import CURVES, Record, first_hit

BUDGET = 20.0
TARGET = 0.8


def record(
    selector: str = "fedavg",
    seed: int = 0,
    curve: Sequence[float] = (0.1, 0.5, 0.8, 0.9),
    *,
    seconds: Sequence[float] | None = None,
    state: str = "finished",
    scenario: str = "slow_tail",
    scenario_hash: str = "c0ffee",
    **final: Any,
) -> Record:
    """Grid of 5 virtual seconds, budget 20 s, target 0.8; the final accuracy is the end of the curve."""
    times = np.array(seconds if seconds is not None else [5.0 * i for i in range(len(curve))])
    columns = {name: np.zeros(len(times)) for name in CURVES}
    columns |= {"seconds": times, "test_accuracy": np.array(curve, dtype=np.float32)}
    resolved = {
        "name": scenario,
        "about": "A slow tail of clients.",
        "clients": 100,
        "budget": {"updates": 400, "seconds": BUDGET, "jobs": None},
        "targets": [{"metric": "test_accuracy", "value": TARGET}],
    }
    algorithm = {"name": selector.partition("[")[0], "options": {"local_lr": 0.1}}
    hit = first_hit(columns["seconds"], columns["test_accuracy"], TARGET)
    meta = {
        "schema": 2,
        "run_id": f"{selector}-{scenario_hash}-{seed}",
        "spec": {
            "task": {"name": "digits", "model": "mlp"},
            "scenario": resolved,
            "scenario_hash": scenario_hash,
            "algorithm": algorithm,
            "selector": selector,
            "seed": seed,
        },
        "provenance": {"version": "0.1.0", "commit": "abc", "dirty": False, "trainer": "native", "libraries": {"numpy": "2.4"}},
        "outcome": {"state": state, "ended_by": "seconds", "message": None},
        "final": {"version": 40 + seed, "test_accuracy": float(curve[-1]) if len(curve) else None} | final,
        "time_to_target": [
            {"metric": "test_accuracy", "value": TARGET, "seconds": hit, "censored_at": float(times[-1]) if len(times) else 0.0}
        ],
        "ledger": {"bytes_up": 1000 + seed, "bytes_down": 2000, "staleness_max": seed, "trained_steps": 10},
        "digests": {"inputs": "i", "plan": "p", "model": f"m{seed}"},
    }
    return Record(meta, columns)


@pytest.fixture(name="record")
def _record() -> Callable[..., Record]:
    return record
