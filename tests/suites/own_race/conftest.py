"""Small races on the digits, with a clock that goes on by a second whenever somebody looks at
it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.scenarios.schema import Scenario
from fedbench.suites.own_race.plan import Given
from fedbench.suites.own_race.race import raced
from fedbench.suites.own_race.result import RaceResult

SETTINGS = (
    "at_work=10",
    "budget.seconds=10",
    "task.model=softmax",
    "targets=[{value: 0.5}]",
    "evaluation={kind: log, first_seconds: 0.1, ratio: 1.1}",
)
DEAR = "fedbuff[concurrency=10,local_lr=0.0002]"
MINE = '''
from dataclasses import dataclass

from fedbench.algorithms.fedavg import FedAvg


@dataclass(frozen=True)
class Mine(FedAvg):
    """Averages."""

    name = "mine"
'''


def ticking() -> Callable[[], float]:
    """A clock."""
    seconds = itertools.count()
    return lambda: float(next(seconds))


def scenario(*more: str) -> Scenario:
    return load("digits-demo", [*SETTINGS, *more])


def given(*algorithms: str, **more: object) -> Given:
    return Given(**{"scenario": scenario(), "algorithms": algorithms, "tune": False, **more})  # type: ignore[arg-type]


def race(one: Given, place: Path, told: list[str] | None = None) -> RaceResult:
    return raced(one, Store(place), (told if told is not None else []).append, progress=False, clock=ticking())


@pytest.fixture(name="mine")
def _mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The selector of an algorithm in a file of this folder."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    return "./mine.py:Mine"
