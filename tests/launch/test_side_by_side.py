"""Runs side by side in threads of one process: their records are those that they have one after
another, in the same number of lanes.

A GPU is acted by torch's CPU device.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedbench import registry
from fedbench.cli.main import app
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.meeting import here
from fedbench.engine.trainers.torch import card as torch_card
from fedbench.engine.trainers.torch import device as torch_device
from fedbench.engine.trainers.torch import stacked as torch_stacked
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.launch.executors import Begun, Event, Failed, Here
from fedbench.launch.failures import RunsFailed
from fedbench.launch.runner import run_specs
from fedbench.launch.side_by_side import SideBySide
from fedbench.launch.watch import WatchedRun, Watcher
from fedbench.results.record import Record
from fedbench.results.store import Store, read, record_folders
from fedbench.scenarios.load import load
from tests.engine.test_device import Acted

SMALL = ["clients=6", "budget.seconds=1", "local.steps=4", "task.model=mlp"]
LANES = 32
CELL = ("fedavg[cohort_size=3]", "fedbuff[buffer_size=2,local_lr=0.03]", "scaffold[cohort_size=2]")
"""Three forms of jobs: plain ones of two rates, and such with a correction."""


@pytest.fixture(autouse=True)
def acted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_stacked, "StackedTrainer", Acted)
    monkeypatch.setattr(torch_device, "require", lambda device: None)
    monkeypatch.setattr(torch_device, "name_of", lambda device: f"the actor of {device}")


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of runs in every block that is trained."""
    seen: list[int] = []
    train = torch_card.Card._side_by_side
    monkeypatch.setattr(
        torch_card.Card,
        "_side_by_side",
        lambda self, block: seen.append(len({entry.run for entry in block})) or train(self, block),
    )
    return seen


def cell(*, validation: bool = False) -> list[RunSpec]:
    """Three algorithms, two seeds; with `validation` each seed has a training set of its own."""
    scenario = load("digits-demo", [*SMALL, *(["validation.share=0.2"] if validation else [])])
    return [RunSpec(scenario, registry.algorithm(selector), seed) for selector in CELL for seed in (0, 1)]


def records(specs: list[RunSpec], executor: Any, lanes: int, **options: Any) -> list[Record]:
    how = RunOptions(device="cuda", lanes=lanes, **options)
    return list(run_specs(specs, executor=executor, options=how, progress=False))


@pytest.mark.parametrize("validation", [False, True])
def test_records_are_those_of_runs_one_after_another(validation: bool, blocks: list[int]) -> None:
    """Digest by digest; whatever is beside them, and as `verify` computes them again."""
    specs = cell(validation=validation)
    alone = records(specs, Here(), LANES)
    assert set(blocks) == {1}
    for executor in (SideBySide(4), SideBySide(6)):
        blocks.clear()
        together = records(specs, executor, LANES)
        assert max(blocks) == min(executor.runs, 4)  # of six runs four have plain jobs
        assert [one.digests for one in together] == [one.digests for one in alone]
        assert [one.provenance.lanes for one in together] == [LANES] * 6
    assert len({one.digests.model for one in alone}) == 6
    assert verify(together[3]).verdict == "identical"


def test_lanes_are_for_the_runs_that_may_be_beside() -> None:
    """Not for those that are, which no result may depend on."""
    assert [SideBySide(runs).lanes for runs in (1, 8)] == [16, 128]


def test_an_error_ends_its_own_run(monkeypatch: pytest.MonkeyPatch) -> None:
    specs, draws = cell(), Acted.draws
    alone = records([specs[0], specs[4]], Here(), LANES)

    def fails(self: Any, job: Any) -> Any:
        if self.seed == 1 and job.k == 1:
            raise ArithmeticError("no luck")
        return draws(self, job)

    monkeypatch.setattr(Acted, "draws", fails)
    with pytest.raises(RunsFailed) as error:
        records([specs[0], specs[1], specs[4]], SideBySide(3), LANES)
    assert [(spec.seed, str(problem).rpartition(", ")[2]) for spec, problem in error.value.failures] == [
        (1, "local training: ArithmeticError: no luck")
    ]
    assert [one.digests for one in error.value.records] == [one.digests for one in alone]


class Stops(Watcher):
    """Interrupts the program at the first progress after every run has begun."""

    def __init__(self, runs: int) -> None:
        self.runs, self.begun = runs, 0

    def on_begin(self, run: WatchedRun) -> None:
        self.begun += 1

    def on_progress(self, run: WatchedRun, version: int, seconds: float) -> None:
        if self.begun == self.runs and version > 1:
            raise KeyboardInterrupt


def test_an_interrupt_leaves_checkpoints_from_which_runs_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all runs under way; and no thread."""
    monkeypatch.setattr("fedbench.launch.watch.REPORT_EVERY", 0.0)
    specs, store = cell()[:4], Store(tmp_path)
    want = [one.digests for one in records(specs, Here(), LANES)]
    how = RunOptions(device="cuda", lanes=LANES, resume=True)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        run_specs(specs, store=tmp_path, executor=SideBySide(4), options=how, progress=False, watch=[Stops(4)])
    assert threading.active_count() == before
    unfinished = len(store.unfinished())
    assert unfinished + len(record_folders(tmp_path)) == 4
    assert unfinished > 0
    again = run_specs(specs, store=tmp_path, executor=SideBySide(4), options=how, progress=False)
    assert [one.digests for one in again] == want


def test_a_task_that_has_ended_makes_room() -> None:
    events: list[Event[str]] = []

    def work(task: str, tell: Any) -> str:
        if task == "fails":
            raise LookupError(task)
        return task

    SideBySide(2).run(work, ["a", "fails", "b", "c"], events.append)
    assert [event.task for event in events if isinstance(event, Begun)] == [0, 1, 2, 3]
    assert [event.task for event in events if isinstance(event, Failed)] == [1]
    assert len(events) == 8


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as in a terminal. A process that a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_tasks_where_they_train_next() -> None:
    """A signal reaches the main thread, which waits for what the others say."""
    ended: list[int] = []

    class Card:
        def train(self, asked: Any, /) -> None:
            pass

    def work(task: int, tell: Any) -> None:
        meeting, card = here(), Card()
        assert meeting is not None
        if task == 0:
            os.kill(os.getpid(), signal.SIGINT)
        try:
            while True:
                meeting.train(card, task)
        finally:
            ended.append(task)

    with pytest.raises(KeyboardInterrupt):
        SideBySide(2).run(work, [0, 1, 2], lambda event: None)
    assert set(ended) <= {0, 1}
    assert 0 in ended


SUITE = """\
schema: 1
name: cell
about: One cell.
points:
  - {name: one, axis: base, scenario: digits-demo, set: {clients: 6, budget.seconds: 1, local.steps: 4, task.model: mlp}}
algorithms: ["fedavg[cohort_size=3]", "fedbuff[buffer_size=2]"]
options: {concurrency: 3}
seeds: {first: 0, count: 2}
"""


def test_a_suite_on_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    """From the command line, which says how many runs go side by side."""
    monkeypatch.chdir(tmp_path)
    Path("cell.yaml").write_text(SUITE)
    done = CliRunner().invoke(app, ["suite", "run", "cell.yaml", "--device", "cuda", "--at-once", "2", "--store", "runs"])
    assert done.exit_code == 0, done.output
    assert "up to 2 runs side by side on cuda, with up to 32 jobs in a step" in " ".join(done.output.split())
    made = [read(folder) for folder in record_folders(Path("runs"))]
    assert [(one.provenance.device, one.provenance.lanes) for one in made] == [("cuda", LANES)] * 4
    assert max(blocks) == 2
    again = Run(RunSpec.of(made[0].spec), options=RunOptions(device="cuda", lanes=LANES)).record()
    assert again.digests == made[0].digests
    for options, said in (
        (["-j", "2"], "-j 2 is for other processes, and with --device cuda one has all runs; --at-once says how many"),
        (["--on", "ray"], "--on ray is for other processes, and with"),
        (["--minutes", "5"], "--minutes is for Slurm, and runs go to --device cuda"),
        (["--device", "gpu"], "device: unknown name 'gpu'; did you mean 'cuda'?"),
    ):
        error = CliRunner().invoke(app, ["suite", "run", "cell.yaml", "--device", "cuda", *options]).exception
        assert isinstance(error, UsageError)
        assert str(error).startswith(said)


def test_a_suite_on_a_device_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    error = CliRunner().invoke(app, ["suite", "run", "smoke", "--device", "cuda", "--store", str(tmp_path)]).exception
    assert isinstance(error, UsageError)
    assert str(error).startswith("device cuda: not on this machine")
