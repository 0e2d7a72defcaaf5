"""Records as a run would leave them, with only what a test cares about given."""

from __future__ import annotations

import ast
import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from fedbench import extras
from fedbench.results.record import CURVES, Record, first_at_least, result_digest, run_id
from fedbench.scenarios.load import load

hypothesis.settings.register_profile("fedbench", deadline=None)  # no test fails since the machine is busy
hypothesis.settings.load_profile("fedbench")

if "FEDBENCH_CACHE" not in os.environ:  # of this session, whose workers and programs share it
    os.environ["FEDBENCH_CACHE"] = OWN_CACHE = tempfile.mkdtemp(prefix="fedbench-decoded-")
else:
    OWN_CACHE = ""


def pytest_sessionfinish() -> None:
    if OWN_CACHE:
        shutil.rmtree(OWN_CACHE)


ABSENT = {package for extra in extras.EXTRAS for package in extras.absent(extra)}


@functools.cache
def imported(file: Path) -> frozenset[str]:
    """The words of the names that a module of tests imports, or that the modules beside it do which
    it imports."""
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            found.update(*(alias.name.split(".") for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.update((node.module or "").split("."))
        elif isinstance(node, ast.ImportFrom) and (beside := file.with_name(f"{node.module}.py")).is_file():
            found |= imported(beside)
    return frozenset(found)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out modules of tests that import a package of an extra, or what needs it, where it is
    not installed."""
    return True if ABSENT and collection_path.suffix == ".py" and imported(collection_path) & ABSENT else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips tests with the marker `extra` where one of the extras that it names is not
    installed."""
    for mark in item.iter_markers("extra"):
        if missing := [name for name in mark.args if extras.absent(name)]:
            pytest.skip(f"needs the extra {' and '.join(missing)}")


os.environ.pop("PYTHONUNBUFFERED", None)  # programs that tests start buffer their output, as those of users do

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
    ended_by: str = "time",
    columns: Mapping[str, Sequence[float]] | None = None,
    **final: Any,
) -> Record:
    """Grid of 5 virtual seconds, budget 20 s, target 0.8; the final accuracy is the end of the
    curve. Between two points lie ten updates, 100 steps and gradients, and 1000 bytes; `columns`
    replaces such columns."""
    times = np.array(seconds if seconds is not None else [5.0 * i for i in range(len(curve))])
    curves = {name: np.zeros(len(times)) for name in CURVES}
    spent = {"version": 10, "steps": 100, "gradient_evaluations": 100, "bytes": 1000}
    curves |= {name: each * np.arange(len(times)) for name, each in spent.items()}
    curves |= {"seconds": times, "test_accuracy": np.array(curve, dtype=np.float32)}
    curves |= {name: np.array(column) for name, column in (columns or {}).items()}
    resolved = {
        "name": scenario,
        "about": "A slow tail of clients.",
        "clients": 100,
        "local": {"steps": 5, "batch_size": 10},
        "budget": {"updates": 400, "seconds": BUDGET, "jobs": None},
        "evaluation": {"every_seconds": 1.0},
        "targets": [{"metric": "test_accuracy", "value": TARGET}],
    }
    algorithm = {"name": selector.partition("[")[0], "options": {"local_lr": 0.05}}
    hit = first_at_least(curves["seconds"], curves["test_accuracy"], TARGET)
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
        "outcome": {"state": state, "ended_by": ended_by if state == "finished" else state, "message": None},
        "final": {"version": 40 + seed, "test_accuracy": float(curve[-1]) if len(curve) else None} | final,
        "time_to_target": [
            {"metric": "test_accuracy", "value": TARGET, "seconds": hit, "censored_at": float(times[-1]) if len(times) else 0.0}
        ],
        "ledger": {"bytes_up": 1000 + seed, "bytes_down": 2000, "staleness_max": seed, "trained_steps": 10},
        "digests": {"inputs": "i", "plan": "p", "model": f"m{seed}"},
    }
    return Record(meta, curves)


def storable(*args: Any, **more: Any) -> Record:
    """The same as a store takes it: every section has all its fields, and they fit each other."""
    one = record(*args, **more)
    targets = "[{metric: test_accuracy, value: 0.8}]"
    settings = [f"name={one.scenario}", f"budget.seconds={BUDGET}", "evaluation.every_seconds=5", f"targets={targets}"]
    scenario = load("digits-demo", settings)
    exact = dict.fromkeys(("version", "steps", "gradient_evaluations", "bytes"), np.int64) | {"seconds": np.float64}
    curves = {name: column.astype(exact.get(name, np.float32)) for name, column in one.curves.items()}
    meta, end, updates = one.meta, float(curves["seconds"][-1]), int(curves["version"][-1])
    facts = {"origin": {"kind": "object", "class": "Odd"}, "requires": []}
    spec = meta["spec"] | {"scenario": scenario.resolved(), "scenario_hash": scenario.content_hash(), "overrides": None}
    spec |= {"task": scenario.task.model_dump(mode="json"), "algorithm": spec["algorithm"] | facts}
    metrics = {name: float(curves[name][-1]) for name in ("test_accuracy", "test_loss", "train_loss")}
    if one.state == "diverged":
        metrics = dict.fromkeys(metrics)
    metrics |= dict.fromkeys(("client_accuracy_mean", "client_accuracy_worst_decile"))
    ledger = {"end_seconds": end, "updates": updates, "gradient_evaluations": 10}
    meta |= {
        "run_id": run_id(spec["scenario_hash"], spec["algorithm"], spec["seed"]),
        "spec": spec,
        "provenance": meta["provenance"] | {"instruction_set": "avx2"},
        "outcome": meta["outcome"] | {"message": ""},
        "warnings": [],
        "final": {"version": updates, "seconds": end, "evaluated_on": "test", **metrics},
        "ledger": meta["ledger"] | ledger,
        "digests": dict.fromkeys(("inputs", "plan", "model", "selections"), "0" * 32),
    }
    meta["digests"]["result"] = result_digest(meta, curves)
    return Record(meta, curves)


@pytest.fixture(name="storable")
def _storable() -> Callable[..., Record]:
    return storable


@pytest.fixture(name="record")
def _record() -> Callable[..., Record]:
    return record
