"""Runs on plays that are written here: every trainer learns, and the record says which files were
read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.data import load_task
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import MissingDataError
from fedbench.results.record import Record
from fedbench.scenarios.load import load
from fedbench.tasks import shakespeare

SMALL = ["clients=3", "partition.min_examples=60", "budget.seconds=20", "evaluation.every_seconds=5", "local.steps=4"]
Plays = Callable[[str], Path]


@pytest.fixture
def plays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Plays]:
    """plays(more) writes a play with four roles, one of them small, and a last line, which is the
    task's from then on."""
    monkeypatch.setenv("FEDBENCH_CACHE", "off")

    def write(more: str) -> Path:
        speeches = [
            f"**ROLE {i}**\n{f'the words of role {i} are few. '.replace(str(i), 'abcd'[i]) * n}"
            for i, n in enumerate((60, 45, 20, 80))
        ]
        file = tmp_path / "play.md"
        file.write_text("# A Play\n\n" + "\n\n".join(speeches) + f"\n\n**EXTRA**\n{more}\n")
        monkeypatch.setattr(shakespeare, "locate", lambda: [file])
        monkeypatch.setattr(shakespeare, "version", lambda _: "0")
        load_task.cache_clear()
        return file

    yield write
    load_task.cache_clear()


def run(*overrides: str, algorithm: str = "fedavg[cohort_size=2,local_lr=0.3]", **options: Any) -> Record:
    spec = RunSpec(load("shakespeare-roles", [*SMALL, *overrides]), registry.algorithm(algorithm), 0)
    return Run(spec, options=RunOptions(**options)).record()


def test_clients_are_the_roles_that_say_most(plays: Plays) -> None:
    plays("Nothing.")
    setup = Setup(RunSpec(load("shakespeare-roles", SMALL), registry.algorithm("fedavg"), 0))
    train = setup.task.dataset.train
    assert train.owner is not None
    assert [np.unique(train.owner[rows]).tolist() for rows in setup.shards] == [[0], [1], [3]]
    assert [len(rows) for rows in setup.shards] == [np.sum(train.owner == owner) for owner in (0, 1, 3)]


def test_the_record_says_which_files_were_read(plays: Plays) -> None:
    """A change that changes no example is another input."""
    plays("Nothing.")
    first, again = run(), run()
    assert first.provenance.trainer == "native"
    assert first.provenance.files["plays"] == shakespeare.dataset().sha256
    assert first.digests == again.digests
    assert first.final.test_accuracy > 0.15
    assert verify(first).verdict == "identical"
    plays("Something.")
    other = run()
    assert other.provenance.files["plays"] != first.provenance.files["plays"]
    assert other.digests.inputs != first.digests.inputs
    assert other.digests.model == first.digests.model


def test_validation_examples_are_the_roles_own(plays: Plays) -> None:
    plays("Nothing.")
    record = run("validation.share=0.2", "partition.min_examples=30")
    assert record.final.evaluated_on == "validation"
    assert record.provenance.files["plays"] == shakespeare.dataset().sha256


@pytest.mark.extra("torch")
def test_native_and_torch_learn_the_same(plays: Plays) -> None:
    plays("Nothing.")
    native, torch = (run(trainer=name) for name in ("native", "torch"))
    assert native.digests.plan == torch.digests.plan
    for name in ("test_loss", "train_loss"):
        assert native.final.as_dict()[name] == pytest.approx(torch.final.as_dict()[name], rel=1e-4)


@pytest.mark.extra("torch")
def test_leafs_lstm_is_torchs(plays: Plays) -> None:
    plays("Nothing.")
    record = run("task.model=lstm_leaf", "local.steps=1", "budget.updates=2", "local.batch_size=4")
    assert record.provenance.trainer == "torch"
    assert "LSTM(inputs=8, hidden=256)) is not native" in record.provenance.trainer_reason
    assert np.isfinite(record.final.test_loss)
    assert record.final.version == 2


def test_a_run_without_the_package_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shakespeare, "PACKAGE", "no-such-package")
    load_task.cache_clear()
    with pytest.raises(MissingDataError, match=r"pip install .*\[text\]"):
        run()
