"""Checkpoints: when one is written, what comes back, and what is refused."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.engine import checkpoint
from fedbench.engine.checkpoint import Checkpointer, opened, restore, sealed
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.errors import ClientError, RecordError
from fedbench.options import option
from fedbench.protocols import Tools
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.types import Batch, Job, Message, Reply, State, Vector, Work
from tests.changes import GONE, put

SMALL = ["clients=6", "budget.updates=8", "local.steps=3", "task.model=softmax", "partition={kind: iid}"]


def run(algorithm: Any, seed: int = 0, store: Store | None = None, progress: Any = None, **options: Any) -> Run:
    chosen = registry.algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    return Run(RunSpec(load("digits-demo", SMALL), chosen, seed), store, RunOptions(**options), progress)


def interrupt(version: int, seconds: float, evaluated: object) -> None:
    if version == 4:
        raise KeyboardInterrupt


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """The checkpoint of FedBuff's run of seed 0 after four updates."""
    left = run("fedbuff[buffer_size=2]", store=Store(tmp_path), progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        left.record()
    assert left.partial is not None
    return left.partial / "checkpoint.bin"


@pytest.mark.parametrize(("algorithm", "seed"), [("fedbuff[buffer_size=2]", 1), ("fedbuff[buffer_size=3]", 0)])
def test_a_run_does_not_go_on_from_anothers_checkpoint(algorithm: str, seed: int, interrupted: Path, tmp_path: Path) -> None:
    """Of another seed or with other options, though it would fit."""
    other = run(algorithm, seed, Store(tmp_path), resume=True)
    assert other.partial is not None
    other.partial.mkdir(parents=True)
    (other.partial / "checkpoint.bin").write_bytes(interrupted.read_bytes())
    with pytest.raises(RecordError, match=f"expected {other.spec.run_id}"):
        other.record()


def test_the_time_before_an_interruption_counts(tmp_path: Path) -> None:
    """The record says how long all of the run took."""

    def slow(version: int, seconds: float, evaluated: object) -> None:
        if version == 4:
            time.sleep(2.0)
        interrupt(version, seconds, evaluated)

    with pytest.raises(KeyboardInterrupt):
        run("fedbuff[buffer_size=2]", store=Store(tmp_path), progress=slow).record()
    record = run("fedbuff[buffer_size=2]", store=Store(tmp_path), resume=True).record()
    assert record.provenance.wall_seconds is not None
    assert record.provenance.wall_seconds > 2.0


NODE = {"value": 1}
CHANGES = [
    ("version", -1, "version: .* got -1"),
    ("version", 2**70, "version"),
    ("version", "4", "version"),
    ("version", GONE, "version"),
    ("more", 1, "more"),
    ("run_id", ["a"], "run_id"),
    ("run_id", "0" * 16, "it belongs to run 0000000000000000"),
    ("trainer", "x" * 1000, "trainer"),
    ("trainer", "trainer torch on cpu", "computed by trainer torch"),
    ("trained_steps", 1.5, "trained_steps"),
    ("server_seconds", "nan", "server_seconds"),
    ("server_seconds", -1.0, "server_seconds"),
    ("wall_seconds", -1.0, "wall_seconds"),
    ("selections", [[-1]], "selections"),
    ("selections", {}, "selections"),
    ("rows", [{}], "rows: .*in every row"),
    ("rows", [{"seconds": "a"}], "rows"),
    ("rows", [[1, 2]], "rows"),
    ("buffers", [], "buffers"),
    ("buffers", {}, "buffers"),
    ("buffers", {"code": "os"}, "buffers"),
    ("buffers", {"array": 99}, "index"),
    ("buffers", {"array": "a"}, "indices"),
    ("buffers", {"array": 0, "list": []}, "buffers"),
    ("state", [], "state"),
    ("state", {}, "state has nothing; the run has x"),
    ("state.more", NODE, "state has more, x; the run has x"),
    ("state.x", NODE, "state.x is a number; the run has float32"),
    ("state.x", {"value": {"deep": []}}, "expected a number, text or nothing"),
    ("state.x", {"table": {"size": {"value": 1e300}}}, "'sum'"),
    ("state.x", {"table": []}, "items"),
    ("state.x", {"teacher": {"sum": NODE}}, "shape"),
    ("state.x", {"list": 3}, "not iterable"),
    ("messages", {"a": {"buffers": NODE, "named": {}}}, "messages.a"),
    ("messages", {"1": {"buffers": NODE, "named": {}}}, "has no"),
    ("messages", {}, "lacks the model of version"),
    ("arrays", [], "longer or shorter"),
    ("arrays.0.dtype", "object", "arrays.0.dtype"),
    ("arrays.0.shape", [2**62, 2**62], "longer or shorter"),
    ("arrays.0.shape", [-1], "arrays.0.shape"),
]


@pytest.mark.parametrize(("path", "value", "expected"), CHANGES)
def test_a_checkpoint_that_is_sealed_but_of_another_form_is_refused(
    path: str, value: Any, expected: str, interrupted: Path, tmp_path: Path
) -> None:
    """In one line that says what is wrong; nothing is computed."""
    tree, arrays = opened(interrupted.read_bytes())
    put(tree, path, value)
    interrupted.write_bytes(b"".join(sealed(tree, arrays)))
    with pytest.raises(RecordError, match=f"checkpoint.*(?:{expected})") as error:
        run("fedbuff[buffer_size=2]", store=Store(tmp_path), resume=True).record()
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 600 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("damaged", "expected"),
    [
        (lambda content: b"", "does not begin"),
        (lambda content: content[:100], "checksum"),
        (lambda content: content[:-1], "checksum"),
        (lambda content: content[:300] + b"!" + content[301:], "checksum"),
        (lambda content: content.replace(b"checkpoint 6", b"checkpoint 5"), "does not begin with 'fedbench checkpoint 6'"),
        (lambda content: content[:26] + content[27:], "checksum"),
    ],
)
def test_a_damaged_checkpoint_is_refused(damaged: Any, expected: str, interrupted: Path, tmp_path: Path) -> None:
    interrupted.write_bytes(damaged(interrupted.read_bytes()))
    with pytest.raises(RecordError, match=f"cannot be read .*{expected}.*delete it to start the run again"):
        run("fedbuff[buffer_size=2]", store=Store(tmp_path), resume=True).record()


def test_an_array_of_another_shape_is_refused(interrupted: Path, tmp_path: Path) -> None:
    """Also where the bytes are as many."""
    tree, arrays = opened(interrupted.read_bytes())
    shapes = [{**one, "shape": [1, *one["shape"]]} for one in tree["arrays"]]
    interrupted.write_bytes(b"".join(sealed(tree | {"arrays": shapes}, arrays)))
    with pytest.raises(RecordError, match=r"buffers is float32 \(1, 0\); the run has float32 \(0,\)"):
        run("fedbuff[buffer_size=2]", store=Store(tmp_path), resume=True).record()


@pytest.mark.parametrize(
    ("part", "value", "expected"),
    [
        ("size", {"value": 7}, "a table of 7 clients .*; the run has a table of 6"),
        ("size", {"value": 5}, "expected at least 6 clients, got 5"),
        ("size", {"value": 1 << 40}, "expected at least . clients, got"),
        ("size", {"value": -1}, "expected at least"),
        ("size", {"value": None}, "int"),
        ("clients", {"list": []}, "tolist"),
        ("rows", {"list": []}, "shorter|zip"),
        ("sum", {"value": 0}, "dtype"),
        ("default", {"value": 0}, "shape"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(part: str, value: Any, expected: str, tmp_path: Path) -> None:
    left = run("mifa[cohort_size=3]", store=Store(tmp_path), progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        left.record()
    assert left.partial is not None
    file = left.partial / "checkpoint.bin"
    tree, arrays = opened(file.read_bytes())
    tree["state"]["G_i"]["table"][part] = value
    file.write_bytes(b"".join(sealed(tree, arrays)))
    with pytest.raises(RecordError, match=f"checkpoint.*(?:{expected})"):
        run("mifa[cohort_size=3]", store=Store(tmp_path), resume=True).record()


def test_messages_that_clients_still_train_from_come_back_read_only(interrupted: Path) -> None:
    again = run("fedbuff[buffer_size=2]")
    trainer = again.backend
    try:
        execution = again._execution()
        restore(interrupted, again.spec.run_id, execution, again.grid)
    finally:
        trainer.close()
    assert execution.version == 4
    assert execution.trained_steps == 4 * 2 * 3
    assert len(execution.messages) > 1
    for message, _ in execution.messages.values():
        assert not message.x.flags.writeable
    assert len({message.x.tobytes() for message, _ in execution.messages.values()}) == len(execution.messages)


def test_what_a_resumed_run_no_longer_needs_is_let_go(interrupted: Path) -> None:
    """Jobs that were consumed before the checkpoint hold no model: at the end the same versions are
    kept as without a break."""
    kept = []
    for file in (None, interrupted):
        one = run("fedbuff[buffer_size=2]")
        trainer = one.backend
        try:
            execution = one._execution()
            if file:
                restore(file, one.spec.run_id, execution, one.grid)
            execution.run([one.setup.scheduler().next(1 << 20)])
        finally:
            trainer.close()
        kept.append((execution.version, sorted(execution.messages)))
    assert kept[0] == kept[1]


def test_without_resume_a_run_begins_again(interrupted: Path, tmp_path: Path) -> None:
    seen: list[int] = []
    record = run("fedbuff[buffer_size=2]", store=Store(tmp_path), progress=lambda version, *_: seen.append(version)).record()
    assert seen == list(range(1, 9))
    assert not interrupted.exists()
    assert record.digests == run("fedbuff[buffer_size=2]").record().digests


def test_a_checkpoint_is_written_when_its_time_has_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first update ten seconds of host time after the last one, or after the begin."""
    now, written = [100.0], []
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoint, "save", lambda path, *_: written.append(now[0]))
    checkpointer = Checkpointer(tmp_path / "run.partial/checkpoint.bin", "", None, 10.0)  # type: ignore[arg-type]
    for now[0] in (100.0, 109.0, 110.0, 115.0, 119.9, 125.0, 134.0, 135.0):
        checkpointer.after_update(None, 0, 0)  # type: ignore[arg-type]
    assert written == [110.0, 125.0, 135.0]


class Halved(FedBuff):
    """Is interrupted when half of its third update is done."""

    name = "halved"

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        if batch.version == 2 and Halved.armed:
            state.x = state.x + np.float32(1)
            raise KeyboardInterrupt
        super().step(state, batch, tools)

    armed = False


def test_ctrl_c_within_an_update_keeps_no_half_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state between two versions is not one of a run: what is left is an older checkpoint, or
    none."""
    wanted: Record = run(Halved(buffer_size=2)).record()
    for seconds, kept in ((0, True), (1000, False)):
        store = Store(tmp_path / str(seconds))
        monkeypatch.setattr(Halved, "armed", True)
        with pytest.raises(KeyboardInterrupt):
            run(Halved(buffer_size=2), store=store, checkpoint_seconds=seconds).record()
        monkeypatch.setattr(Halved, "armed", False)
        assert bool(list(tmp_path.glob(f"{seconds}/*/*/*.partial/checkpoint.bin"))) == kept
        assert run(Halved(buffer_size=2), store=store, resume=True).record().digests == wanted.digests


@dataclass(frozen=True, kw_only=True)
class Failing(FedBuff):
    """Fails at a client's reply of version 3, or is interrupted there within the server's
    update."""

    name = "failing"
    at: str = option("reply", "where")

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        if job.base == 3 and self.at == "reply":
            raise ClientError("client: no")
        return super().reply(message, job, work, memory)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        if batch.version == 3 and self.at == "step":
            signal.raise_signal(signal.SIGINT)
        super().step(state, batch, tools)


@pytest.mark.parametrize(("at", "error", "version"), [("reply", ClientError, None), ("step", KeyboardInterrupt, 4)])
def test_errors_leave_a_checkpoint_of_the_last_version(
    at: str, error: type[BaseException], version: int | None, tmp_path: Path
) -> None:
    """A client's error before an update, and Ctrl-C within one, which is finished first."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        failing = run(Failing(buffer_size=2, at=at), store=Store(tmp_path), checkpoint_seconds=1000)
        with pytest.raises(error):
            failing.record()
    finally:
        signal.signal(signal.SIGINT, before)
    assert failing.partial is not None
    saved = opened((failing.partial / "checkpoint.bin").read_bytes())[0]["version"]
    assert saved == version if version else saved > 0


def test_an_error_is_raised_though_no_checkpoint_can_be_written(tmp_path: Path) -> None:
    failing = run(Failing(buffer_size=2), store=Store(tmp_path), checkpoint_seconds=1000)
    assert failing.partial is not None
    failing.partial.parent.mkdir(parents=True)
    failing.partial.write_text("in the way")
    with pytest.raises(ClientError) as caught:
        failing.record()
    assert "no checkpoint could be written" in caught.value.__notes__[0]
