"""One good submission of three rows at one point: published and tuned options of FedAvg, and an
algorithm in a file that leaves a trace whenever it is run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from fedbench.results.store import Store, write_atomically
from fedbench.submissions.make import Words, make
from fedbench.suites import campaign, tuned, tuning
from fedbench.suites import space as spaces
from fedbench.suites import suite as suites
from fedbench.suites import trials as trials_table
from fedbench.suites.suite import Suite

NAME, POINT, BUILT_IN = "good", "calm", "fedavg"
PLUGIN = """\
from pathlib import Path

from fedbench import registry

Path(__file__).with_name("trace").touch()


class Traced(registry.find("algorithm", "fedavg")):
    name = "traced"
"""
WORDS = Words(NAME, "Good <script>alert(1)</script> work", ("A. Nobody", "B. Nobody"), "nobody@example.org", "2031-05-17")


@dataclass(frozen=True)
class Made:
    """Where everything is that was made once. `folder`: the submission; nobody may change it."""

    folder: Path
    suite: Suite
    store: Store
    tuned: Path
    trials: Path
    plugin: str
    refused: str = ""


def _tune(suite: Suite, store: Store, folder: Path) -> tuple[Path, Path]:
    space, point = spaces.load(tuning.tuning_of(suite).space), suite.point(POINT)
    several = list(tuning.trials(suite, space, [point], [BUILT_IN]))
    campaign.compute([spec for trial in several for spec in trial.specs], store)
    ended = [(trial, tuning.outcomes(trial, store, {}) or []) for trial in several]
    choice = tuning.choose({one.number: one.options for one in several}, {one.number: runs for one, runs in ended})
    file, table = folder / "smoke.yaml", folder / "smoke-trials.parquet"
    write_atomically(file, tuned.as_yaml(tuned.content(suite, space, {(POINT, BUILT_IN): choice})).encode())
    trials_table.write(table, ended, suite.design_hash())
    return file, table


@pytest.fixture(scope="session", name="made")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("submission")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedbench.results.provenance.commit", lambda: ("0123456789" * 4, False))
        suite, store = suites.load("smoke"), Store(folder / "runs")
        file, table = _tune(suite, store, folder)
        (folder / "traced.py").write_text(PLUGIN)
        plugin = f"{folder / 'traced.py'}:Traced"
        rows = tuned.rows(suite, tuned.read(file, suite), [suite.point(POINT)], [BUILT_IN, plugin])
        campaign.compute([spec for _, _, of_row in rows for spec in of_row], store)
        make(folder / "made", WORDS, suite, [BUILT_IN, plugin], store, file, table)
    return Made(folder / "made" / NAME, suite, store, file, table, plugin)


@pytest.fixture(name="copy")
def _copy(made: Made, tmp_path: Path) -> Path:
    """The good submission, to be changed."""
    return Path(shutil.copytree(made.folder, tmp_path / "submissions" / NAME))
