"""The model that is judged: an algorithm's `evaluated`, in curves, final metrics and digest, while
training goes on from x."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from fedbench.algorithms.fedadam import FedAdam
from fedbench.algorithms.fedavg import FedAvg
from fedbench.algorithms.fedexp import FedExP
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Snapshot
from fedbench.errors import FedbenchError
from fedbench.options import option
from fedbench.protocols import Algorithm, Tools
from fedbench.results.digests import Digest
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.types import Batch, State, Vector

SMALL = ["clients=6", "budget.updates=8", "local.steps=3", "task.model=softmax"]
METRICS = ("test_accuracy", "test_loss", "train_loss")


class Kept(FedExP):
    """FedExP, whose models are kept by version."""

    name = "kept"
    x: ClassVar[list[Vector]] = []

    def init(self, x0: Vector, tools: Tools) -> State:
        self.x[:] = [x0.copy()]
        return super().init(x0, tools)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        super().step(state, batch, tools)
        self.x.append(state.x.copy())


class Last(Kept):
    """FedExP that is judged by its last iterate."""

    name = "last"

    def evaluated(self, state: State) -> Vector:
        return Algorithm.evaluated(self, state)


def run(algorithm: Algorithm, *overrides: str, **options: Any) -> Run:
    return Run(RunSpec(load("digits-demo", [*SMALL, *overrides]), algorithm, 0), **options)


def mean_of_two(x: list[Vector]) -> list[Vector]:
    """The mean of every version and the one before; of version 0 itself."""
    return [(one + before) / np.float32(2) for before, one in zip([x[0], *x], x, strict=False)]


@pytest.fixture(scope="module", name="kept")
def _kept() -> tuple[Record, list[Vector]]:
    """The record of a run of FedExP, and its models x by version."""
    return run(Kept(cohort_size=3)).record(), list(Kept.x)


def scored(models: list[Vector]) -> list[dict[str, float]]:
    evaluator = run(Kept()).evaluator
    try:
        return [evaluator.metrics([Snapshot(x, np.empty(0, np.float32))])[0] for x in models]
    finally:
        evaluator.backend.close()


def test_curves_are_those_of_the_mean_of_two(kept: tuple[Record, list[Vector]]) -> None:
    record, x = kept
    versions = record.curves["version"].tolist()
    assert versions[0] == 0
    assert len(set(versions)) > 3
    judged, last = scored(mean_of_two(x)), scored(x)
    for name in METRICS:
        assert record.curves[name].tolist() == [np.float32(judged[version][name]) for version in versions]
    assert all(judged[version]["test_loss"] != last[version]["test_loss"] for version in versions if version)


def test_final_metrics_and_digest_are_those_of_the_mean_of_two(kept: tuple[Record, list[Vector]]) -> None:
    record, x = kept
    mean = mean_of_two(x)[-1]
    (wanted,) = scored([mean])
    assert {name: getattr(record.final, name) for name in METRICS} == wanted
    assert record.digests.model == Digest().add(mean, np.empty(0, np.float32)).hex()
    one = run(Kept())
    accuracy = one.evaluator.parts(mean, np.empty(0, np.float32)).client_accuracy
    one.backend.close()
    assert record.final.client_accuracy_mean == float(np.sort(accuracy).mean())


def test_training_goes_on_from_x(kept: tuple[Record, list[Vector]]) -> None:
    """An algorithm that is judged by x has the same models, and another digest and other scores."""
    record, x = kept
    last = run(Last(cohort_size=3)).record()
    assert [one.tobytes() for one in Last.x] == [one.tobytes() for one in x]
    assert last.digests.plan == record.digests.plan
    assert last.digests.model == Digest().add(x[-1], np.empty(0, np.float32)).hex() != record.digests.model
    assert last.final.test_loss != record.final.test_loss


@pytest.mark.parametrize("stop_at", range(1, 8))
def test_a_resumed_run_gives_the_same_record(stop_at: int, kept: tuple[Record, list[Vector]], tmp_path: Path) -> None:
    wanted, x = kept

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if version == stop_at:
            raise KeyboardInterrupt

    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(Kept(cohort_size=3), store=store, progress=interrupt).record()
    again = run(Kept(cohort_size=3), store=store, options=RunOptions(resume=True)).record()
    assert [one.tobytes() for one in Kept.x[1:]] == [one.tobytes() for one in x[stop_at + 1 :]]
    assert again.digests == wanted.digests
    assert again.final == wanted.final
    assert all(np.array_equal(again.curves[name], wanted.curves[name]) for name in wanted.curves)


@pytest.mark.parametrize("algorithm", [FedExP(cohort_size=3), FedAdam(cohort_size=3)], ids=["fedexp", "fedadam"])
def test_a_model_that_waits_is_that_of_its_own_time(algorithm: Algorithm) -> None:
    """Also where the server's steps are in place, as FedAdam's. In waves of one too."""
    records = []
    for at_a_time, wave_size in ((1, None), (3, 1), (100, None)):
        one = run(algorithm, options=RunOptions(wave_size=wave_size))
        one.grid._at_a_time = at_a_time
        records.append(one.record())
    for record in records[1:]:
        assert record.digests == records[0].digests
        assert all(np.array_equal(record.curves[name], records[0].curves[name]) for name in record.curves)


def test_a_diverged_run_ends_as_one() -> None:
    record = run(FedExP(cohort_size=3, local_lr=3e38)).record()
    assert record.outcome.state == "diverged"
    assert record.final.test_accuracy is None


@dataclass(frozen=True, kw_only=True)
class Wrong(FedAvg):
    """Gives something that is no model of the run."""

    name = "wrong"
    what: str = option("", "What it gives.")

    def evaluated(self, state: State) -> Vector:
        wrong: dict[str, Any] = {
            "dtype": state.x * np.float64(1),
            "shape": state.x[1:],
            "rank": state.x[None],
            "nothing": None,
            "list": state.x.tolist(),
        }
        return wrong[self.what]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("what", "got"),
    [
        ("dtype", r"float64 \(650,\)"),
        ("shape", r"float32 \(649,\)"),
        ("rank", r"float32 \(1, 650\)"),
        ("nothing", "NoneType"),
        ("list", "list"),
    ],
)
def test_what_is_no_model_is_an_error(what: str, got: str, tmp_path: Path) -> None:
    """Also where a checkpoint is then written."""
    for store in (None, Store(tmp_path)):
        with pytest.raises(FedbenchError, match=rf"wrong.evaluated: x must stay float32 \(650,\), got {got}; a numpy float64"):
            run(Wrong(cohort_size=3, what=what), store=store).record()
