"""Records as a run would leave them, with only what a test cares about given."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
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
from fedbench.results.record import COLUMNS, CURVES, SCHEMA, Column, Record, hits, of_json, run_id, with_results
from fedbench.results.sections import METRICS
from fedbench.scenarios.load import load
from fedbench.scenarios.schema import Scenario

hypothesis.settings.register_profile("fedbench", deadline=None)  # no test fails since the machine is busy
hypothesis.settings.load_profile("fedbench")

# On some processors, with AVX-512 and without, a product of MKL has other last bits at another
# place in memory, unless this is set before the first one. The trainer for GPUs, which have no such
# places, is tested on the processor too.
os.environ.setdefault("MKL_CBWR", "AUTO")

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


def sixteen(text: str) -> str:
    """16 hexadecimal digits, which differ for other texts."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
    curves: dict[str, Column] = {name: np.zeros(len(times)) for name in CURVES}
    spent = {"version": 10, "steps": 100, "gradient_evaluations": 100, "bytes": 1000}
    curves |= {name: each * np.arange(len(times)) for name, each in spent.items()}
    curves |= {"seconds": times, "test_accuracy": np.array(curve, dtype=np.float32)}
    curves |= {name: np.array(column) for name, column in (columns or {}).items()}
    given, end = _scenario(scenario), float(times[-1]) if len(times) else 0.0
    name = selector.partition("[")[0]
    metrics = dict.fromkeys(("test_loss", "train_loss", "client_accuracy_mean", "client_accuracy_worst_decile"))
    sections = {
        "schema": SCHEMA,
        "run_id": sixteen(f"{selector}-{scenario_hash}-{seed}"),
        "spec": {
            "scenario": given,
            "scenario_hash": sixteen(scenario_hash),
            "algorithm": {"name": name, "options": {"local_lr": 0.05}},
            "selector": selector,
            "seed": seed,
        },
        "provenance": {
            "version": "0.1.0", "commit": "abc", "dirty": False, "trainer": "native", "instruction_set": "avx2",
            "libraries": {"numpy": "2.4"},
        },
        "outcome": {"state": state, "ended_by": ended_by if state == "finished" else state, "message": ""},
        "warnings": [],
        "final": {
            "version": 40 + seed, "seconds": end, "evaluated_on": "test", **metrics,
            "test_accuracy": _finite(curve[-1]) if len(curve) else None,
        } | final,
        "time_to_target": [],
        "ledger": {
            "end_seconds": end, "updates": 40 + seed, "gradient_evaluations": 10, "bytes_up": 1000 + seed, "bytes_down": 2000,
            "staleness_max": seed, "trained_steps": 10,
        },
        "digests": {"inputs": "1" * 32, "plan": "2" * 32, "model": f"{seed:032x}"},
    }  # fmt: skip
    one = of_json(sections, curves, "made up")
    return one.model_copy(update={"time_to_target": hits(given, curves, end)})


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@functools.cache
def _scenario(name: str) -> Scenario:
    targets = f"[{{metric: test_accuracy, value: {TARGET}}}]"
    given = (
        "about=A slow tail of clients.",
        "clients=100",
        "local.steps=5",
        f"budget.seconds={BUDGET}",
        "evaluation.every_seconds=1",
    )
    return load("digits-demo", [f"name={name}", *given, f"targets={targets}"])


def storable(*args: Any, **more: Any) -> Record:
    """The same as a store takes it: every section has all its fields, and they fit each other."""
    one = record(*args, **more)
    settings = [
        f"name={one.scenario}",
        f"budget.seconds={BUDGET}",
        "evaluation.every_seconds=5",
        f"targets=[{{value: {TARGET}}}]",
    ]
    curves = {name: column.astype(COLUMNS[name]) for name, column in one.curves.items()}
    end, updates = float(curves["seconds"][-1]), int(curves["version"][-1])
    given = load("digits-demo", settings)
    metrics = dict.fromkeys(METRICS) if one.state == "diverged" else {name: _finite(curves[name][-1]) for name in METRICS}
    algorithm = {**one.spec.algorithm.as_dict(), "origin": {"kind": "object", "class": "Odd"}}
    changed = altered(
        one.model_copy(update={"curves": curves, "time_to_target": hits(given, curves, end)}),
        {
            "spec.scenario": given,
            "spec.scenario_hash": given.content_hash(),
            "spec.algorithm": algorithm,
            "spec.overrides": None,
            "final": {"version": updates, "seconds": end, **metrics},
            "ledger": {"end_seconds": end, "updates": updates},
            "digests": dict.fromkeys(("inputs", "plan", "model", "selections"), "0" * 32),
        },
    )
    return sealed(changed)


def sealed(one: Record) -> Record:
    """The record with the id and the digests that fit the rest of it."""
    spec, algorithm = one.spec, one.spec.algorithm
    content = "" if algorithm.origin is None else algorithm.origin.sha256
    name = run_id(spec.scenario_hash, algorithm.name, algorithm.options, spec.seed, content)
    return with_results(one.model_copy(update={"run_id": name}))


GONE = object()


def altered(one: Record, changes: Mapping[str, Any]) -> Record:
    """The record with other values at paths such as "final.test_accuracy". A mapping is added to
    what is there, and GONE takes a key away."""
    sections: dict[str, Any] = json.loads(json.dumps(one.as_dict()))
    for path, value in changes.items():
        *folders, key = path.split(".")
        place: Any = sections
        for folder in folders:
            place = place[int(folder)] if isinstance(place, list) else place.setdefault(folder, {})
        if value is GONE:
            del place[key]
        elif isinstance(place, list):
            place[int(key)] = value
        elif isinstance(value, dict) and isinstance(place.get(key), dict):
            place[key] |= value
        else:
            place[key] = value
    return of_json(sections, one.curves, "altered")


def alter(one: Record, path: str, value: Any) -> None:
    """Change a made-up record where it is. Only tests can."""
    vars(one).update(vars(altered(one, {path: value})))


@pytest.fixture(name="storable")
def _storable() -> Callable[..., Record]:
    return storable


@pytest.fixture(name="record")
def _record() -> Callable[..., Record]:
    return record
