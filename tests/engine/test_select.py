"""External selection: the model says who takes part, and nothing else about how a run is computed
does."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench.engine.export import write_trace
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError, UsageError
from fedbench.protocols import Algorithm
from fedbench.results.store import Store
from fedbench.tables import ClientTable
from fedbench.types import Dispatch, Info, Rounds, State, Vector

from .largest_updates import LargestUpdates, spec

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class Watched(LargestUpdates):
    """Writes down what it was asked, and what it chose."""

    name = "largest_updates"

    def select(self, state: State, available: Any, round: int, tools: Any) -> Any:
        chosen = super().select(state, available, round, tools)
        SEEN.append((round, float(state.norms.sum()), available.tolist(), chosen.tolist()))
        DRAWN.append(float(tools.random.uniform(1)[0]))
        with pytest.raises(ValueError, match="read-only"):
            state.norms[0] = 0
        return chosen


SEEN: list[tuple[int, float, list[int], list[int]]] = []
DRAWN: list[float] = []


def digests(one: RunSpec, **options: Any) -> dict[str, str]:
    found: dict[str, str] = Run(one, options=RunOptions(**options)).record().digests.as_dict()
    return found


def test_every_round_is_asked_about_once_with_the_state_as_it_is() -> None:
    SEEN.clear()
    DRAWN.clear()
    one = spec("dropout=0.3")
    record = Run(RunSpec(one.scenario, Watched(), 0)).record()
    ledger = record.ledger
    assert [entry[0] for entry in SEEN] == list(range(len(SEEN)))
    assert len(SEEN) > ledger.updates == 12  # some rounds lost all
    assert ledger.jobs == sum(len(chosen) for *_, chosen in SEEN)
    assert ledger.jobs_dropped_out > 0
    sums = [total for _, total, *_ in SEEN]
    assert sums[0] == 8e3
    assert len(set(sums)) == 12  # a new state after every update, none between
    assert all(set(chosen) <= set(available) for *_, available, chosen in SEEN)
    assert any(len(available) < 8 for *_, available, _ in SEEN)
    assert len(set(DRAWN)) == len(SEEN)  # every round has draws of its own
    assert record.digests.model == digests(spec("dropout=0.3"))["model"]


def test_it_is_the_model_that_selects() -> None:
    """Another local rate, other norms, other cohorts; and another seed draws other candidates."""
    wanted = digests(spec())
    assert digests(spec(local_lr=0.5))["plan"] != wanted["plan"]
    assert digests(spec(seed=1))["plan"] != wanted["plan"]
    assert digests(spec(local_lr=0.5))["inputs"] == wanted["inputs"]


def test_waves_and_workers_change_no_digest() -> None:
    wanted = digests(spec())
    assert digests(spec(), wave_size=1) == wanted
    assert digests(spec(), workers=2, wave_bytes=1) == wanted


@pytest.mark.parametrize("killed_at", [2, 6, 12])
def test_killed_and_resumed(killed_at: int, tmp_path: Path) -> None:
    """A real SIGKILL between two updates."""
    command = [sys.executable, "-m", "tests.engine.largest_updates", str(tmp_path), str(killed_at)]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    store = Store(tmp_path)
    assert len(store.unfinished()) == 1
    wanted = Run(spec()).record()
    resumed = Run(spec(), store, RunOptions(resume=True)).record()
    assert resumed.digests == wanted.digests
    assert resumed.ledger == wanted.ledger
    assert all(np.array_equal(resumed.curves[name], wanted.curves[name]) for name in wanted.curves)


def test_a_plan_alone_is_refused_and_says_why(tmp_path: Path) -> None:
    for action in (plan, lambda one: write_trace(one, tmp_path / "trace.json")):
        with pytest.raises(
            UsageError, match=r"largest_updates has no plan without training: it selects .* by the state of the model"
        ):
            action(spec())


def test_a_diverged_run_ends_where_it_diverged() -> None:
    record = Run(spec(local_lr=3e38)).record()
    assert record.state == "diverged"
    assert record.ledger.updates == record.outcome.version < 12


@dataclass(frozen=True, kw_only=True)
class Wrong(Algorithm):
    """Selects what it should not."""

    name = "wrong"
    answer: str = ""

    def dispatch(self, info: Info) -> Dispatch:
        return Rounds(select="external")

    def init(self, x0: Vector, tools: Any) -> State:
        return State(x=x0, memory=ClientTable(tools.info.clients, np.zeros_like(x0)))

    def select(self, state: State, available: Any, round: int, tools: Any) -> Any:
        if self.answer == "missing":
            return super().select(state, available, round, tools)
        return {"none": [], "text": "all", "away": [99], "twice": [available[0], available[0]], "real": [0.5]}[self.answer]


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ("none", FedbenchError, r"wrong.select, round 0: expected at least one client as whole numbers \(n,\), got \[\]"),
        ("text", FedbenchError, r"expected at least one client as whole numbers \(n,\), got 'all'"),
        ("real", FedbenchError, r"expected at least one client as whole numbers"),
        ("away", FedbenchError, r"wrong.select, round 0: clients \[99\] are not among the \d that are there"),
        ("twice", FedbenchError, r"clients have memory, so a job cannot count twice"),
        ("missing", NotImplementedError, r"Wrong does not say whom it selects"),
    ],
)
def test_wrong_answers_are_named(answer: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Run(RunSpec(spec().scenario, Wrong(answer=answer), 0)).record()
