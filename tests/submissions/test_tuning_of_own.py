"""Tuned rows of an algorithm in a file: all trials of its declared space are there, the rule
chooses the same options from them, and no code of it runs in a check."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from fedbench.documents.validity import Validity
from fedbench.errors import FedbenchError, UsageError
from fedbench.results.store import Store, write_atomically
from fedbench.submissions import own_tuning
from fedbench.submissions import tuning as checked
from fedbench.submissions.check import check
from fedbench.submissions.folder import TRIALS, TUNED
from fedbench.submissions.make import make
from fedbench.submissions.manifest import MANIFEST, as_yaml, parse
from fedbench.submissions.rerun import rerun
from fedbench.submissions.rows import _of_tuned
from fedbench.suites import campaign, tuned, tuning
from fedbench.suites import space as spaces
from fedbench.suites import suite as suites
from fedbench.suites import trials as trials_table
from fedbench.suites.suite import Suite
from tests.engine.isolation.plugins import confined
from tests.submissions.conftest import NAME, POINT, WORDS, Made
from tests.submissions.tampering import changed, parquet, records, repacked, written

PLUGIN = """\
from dataclasses import dataclass
from pathlib import Path

from fedbench import registry
from fedbench.options import Log
from fedbench.protocols import Positive, Count, option

Path(__file__).with_name("trace").touch()


@dataclass(frozen=True, kw_only=True)
class Rated(registry.find("algorithm", "fedavg")):
    name = "rated"

    local_lr: Positive = option(0.02, "A rate.", search=Log(0.01, 1))
    cohort_size: Count = option(4, "Clients of a round.", search=Log(2, 6))
"""


@pytest.fixture(scope="module", name="rated")
def _rated(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A submission with the default and the tuned row of an algorithm in a file."""
    folder = tmp_path_factory.mktemp("rated")
    (folder / "rated.py").write_text(PLUGIN)
    plugin = f"{folder / 'rated.py'}:Rated"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedbench.results.provenance.commit", lambda: ("0123456789" * 4, False))
        suite, store = suites.load("smoke"), Store(folder / "runs")
        space, point = spaces.load(tuning.tuning_of(suite).space), suite.point(POINT)
        several = list(tuning.trials(suite, space, [point], [plugin]))
        campaign.compute([spec for trial in several for spec in trial.specs], store)
        ended = [(trial, tuning.outcomes(trial, store, {}) or []) for trial in several]
        choice = tuning.choose({one.number: one.options for one in several}, {one.number: runs for one, runs in ended})
        file, table = folder / "smoke.yaml", folder / "smoke-trials.parquet"
        write_atomically(file, tuned.as_yaml(tuned.content(suite, space, {(POINT, plugin): choice})).encode())
        trials_table.write(table, ended, suite.design_hash())
        rows = tuned.rows(suite, tuned.read(file, suite), [point], [plugin])
        campaign.compute([spec for _, _, of_row in rows for spec in of_row], store)
        refused = ""
        try:
            make(folder / "made", WORDS, suite, [plugin], store, file, table)
        except FedbenchError as error:  # told by the first test, since a fixture cannot fail
            refused = str(error)
    return Made(folder / "made" / NAME, suite, store, file, table, plugin, refused)


@pytest.fixture(name="own")
def _own(rated: Made, tmp_path: Path) -> Path:
    return Path(shutil.copytree(rated.folder, tmp_path / "submissions" / NAME))


def test_what_is_right_is_made(rated: Made) -> None:
    assert rated.refused == ""


def test_it_has_both_rows_and_all_trials_by_the_manifest_alone(rated: Made, own: Path) -> None:
    report = check(own, apart=False)
    assert report.faults == ()
    assert [row.name for row in report.rows] == ["rated", f"rated{tuned.TUNED}"]
    assert [len(row.runs) for row in report.rows] == [3, 3]
    assert len(report.trials) == 5 * 2
    assert sum(one.chosen for one in report.trials) == 2
    assert report.validity is Validity.CHECKED
    assert not (own / "trace").exists()
    manifest = parse((own / MANIFEST).read_bytes())
    assert as_yaml(manifest).encode() == (own / MANIFEST).read_bytes()
    space = manifest.plugins["rated"].space
    assert space is not None
    assert {key: (one.low, one.high, one.whole, one.default) for key, one in space.items()} == {
        "local_lr": (0.01, 1.0, False, 0.02),
        "cohort_size": (2.0, 6.0, True, 4),
    }


def test_the_trials_are_those_of_tune(rated: Made, own: Path) -> None:
    """Options, seeds and run ids, as the class itself gives them."""
    suite: Suite = rated.suite
    entrant = parse((own / MANIFEST).read_bytes()).plugins["rated"]
    ours = own_tuning.trials(entrant, suite, POINT, check(own, apart=False).rows[1].runs[0].spec.algorithm.options)
    theirs = list(tuning.trials(suite, spaces.load(tuning.tuning_of(suite).space), [suite.point(POINT)], [rated.plugin]))
    assert [one.options for one in ours] == [one.options for one in theirs]
    assert [[spec.run_id for spec in one.specs] for one in ours] == [[spec.run_id for spec in one.specs] for one in theirs]


@pytest.mark.slow
@confined
def test_its_trials_are_run_again(own: Path) -> None:
    again = rerun(check(own, apart=False), own, 3, 0, run_plugins=True)
    assert [one.verdict for one in again.again] == ["identical"] * 6
    assert [one.why for one in again.again] == ["drawn"] * 3 + ["trial"] * 3
    assert again.validity is Validity.RE_RUN


def test_its_code_is_not_run_unasked(own: Path) -> None:
    report = rerun(check(own, apart=False), own, 3, 0)
    assert report.again == ()
    assert report.validity is Validity.CHECKED


@pytest.mark.slow
@confined
def test_an_invented_trial_is_found(rated: Made, own: Path) -> None:
    """All checksums and the choice are right, and no run gives this."""
    suite, entrant = rated.suite, parse((own / MANIFEST).read_bytes()).plugins["rated"]
    table = pq.read_table(io.BytesIO((own / TRIALS).read_bytes()))
    rows = table.to_pylist()
    rows[2]["result"] = "0" * 32
    written(own, TRIALS, parquet(type(table).from_pylist(rows, table.schema)))
    known = trials_table.parse((own / TRIALS).read_bytes(), suite.design_hash(), TRIALS)
    several = own_tuning.trials(entrant, suite, POINT, records(own)[0].spec.algorithm.options)
    choice = tuning.choose(
        {one.number: one.options for one in several},
        {one.number: [known[spec.run_id] for spec in one.specs] for one in several},
    )
    chosen("digest", choice.digest)(own)
    report = check(own, apart=False)
    assert report.faults == ()
    (fault,) = rerun(report, own, 10, 0, run_plugins=True).faults
    assert fault.line.startswith(f"{TRIALS}: trial 1 of ")
    assert "result: run again, it is " in fault.line


def without_rows(*numbers: int) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        table = pq.read_table(io.BytesIO((folder / TRIALS).read_bytes()))
        kept = [row for i, row in enumerate(table.to_pylist()) if i not in numbers]
        written(folder, TRIALS, parquet(type(table).from_pylist(kept, table.schema)))

    return change


def in_tuned(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def changing(folder: Path) -> None:
        found = yaml.safe_load((folder / TUNED).read_text())
        change(found)
        written(folder, TUNED, yaml.safe_dump(found).encode())

    return changing


def chosen(key: str, value: Any) -> Callable[[Path], None]:
    return in_tuned(lambda found: next(iter(found["points"][POINT].values())).update({key: value}))


def renamed(found: dict[str, Any]) -> None:
    (choice,) = found["points"][POINT].values()
    found["points"][POINT] = {"other.py:Rated": choice}


def entry(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    return lambda folder: changed(folder, lambda found: change(found["algorithms"][0]))


def space(key: str, value: Any) -> Callable[[Path], None]:
    return entry(lambda one: one["space"]["local_lr"].update({key: value}))


def without_a_seed(folder: Path) -> None:
    repacked(folder, [one for one in records(folder) if one.seed != 1 or one.spec.algorithm.options["local_lr"] == 0.02])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_rows(3), r"rated \(tuned\) at calm: 1 of 10 runs of its trials are missing: trial 1 seed 101 \(run [0-9a-f]{16}\)$"),
        (without_rows(0, 4, 5), r"3 of 10 runs of its trials are missing: trial 0 seed 100 .*, trial 2 seed 100 .*, trial 2 seed 101"),
        (chosen("trial", 0), r"rated \(tuned\) at calm: trial: its trials give [1-4], the file says 0"),
        (chosen("digest", "0" * 32), r"digest: its trials give '[0-9a-f]{32}', the file says '0{32}'"),
        (space("high", 2.0), r"expected search space [0-9a-f]{16} and rule 1, got "),
        (space("default", 0.03), r"its options are neither the default ones of submission.yaml nor tuned ones"),
        (space("low", 2.0), r"space.local_lr: .*low.* 2"),
        (space("low", float("inf")), r"algorithms.0.space.local_lr.low"),
        (space("scale", "cubic"), r"algorithms.0.space.local_lr.scale"),
        (entry(lambda one: one.pop("space")), r"must have the space that its options are of"),
        (entry(lambda one: one["space"].pop("cohort_size")), r"expected the options local_lr, got"),
        (chosen("options", {"local_lr": 0.5}), r"expected the options local_lr, cohort_size, got local_lr$"),
        (in_tuned(renamed), r"'other.py:Rated' is no algorithm of suite smoke, and none in a file of submission.yaml"),
        (without_a_seed, r"rated \(tuned\) at calm: expected all 3 seeds of the suite, missing 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(change: Callable[[Path], None], message: str, own: Path) -> None:
    change(own)
    report = check(own, apart=False)
    assert report.faults
    assert any(re.search(message, one.line) for one in report.faults), [one.line for one in report.faults]
    assert all("\n" not in one.line for one in report.faults)
    assert not (own / "trace").exists()


def test_a_suite_that_halves_takes_none(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "Sobol", type(None))
    (fault,) = check(own, apart=False).faults
    assert "suite smoke does not make all trials at once, so only its own algorithms have tuned rows" in fault.line


def test_it_is_named_as_it_was_tuned(rated: Made, tmp_path: Path) -> None:
    other = tmp_path / "rated.py"
    other.write_text(PLUGIN)
    with pytest.raises(UsageError, match=r"^tuned options .*: they have .*rated.py:Rated; name it so, got .*rated.py:Rated$"):
        make(tmp_path, WORDS, rated.suite, [f"{other}:Rated"], rated.store, rated.tuned, rated.trials)


def test_submit_names_missing_trials(rated: Made, tmp_path: Path) -> None:
    table = pq.read_table(rated.trials)
    short = tmp_path / "short.parquet"
    pq.write_table(table.slice(2), short)
    with pytest.raises(FedbenchError, match=r"2 of 10 runs of its trials are missing: trial 0 seed 100"):
        make(tmp_path, WORDS, rated.suite, [rated.plugin], rated.store, rated.tuned, short)
    assert not (tmp_path / NAME).exists()


def test_a_default_that_is_best_makes_both_rows(own: Path) -> None:
    """Then the same records are those of both."""
    manifest = parse((own / MANIFEST).read_bytes())
    frozen = tuned.Tuned.model_validate(yaml.safe_load((own / TUNED).read_text()))
    ((selector, choice),) = frozen.points[POINT].items()
    best = frozen.model_copy(update={"points": {POINT: {selector: replace(choice, options={})}}})
    keys = _of_tuned({"local_lr": 0.02, "cohort_size": 4}, manifest.plugins["rated"], POINT, manifest, best)
    assert list(keys) == [(POINT, "rated"), (POINT, f"rated{tuned.TUNED}")]
