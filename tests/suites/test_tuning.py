"""Options are found by a fixed rule, from runs that no comparison sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench.errors import RecordError, UsageError
from fedbench.launch.runner import run
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.suites import campaign, tuned, tuning
from fedbench.suites import trials as trials_table
from fedbench.suites.space import load as load_space
from fedbench.suites.suite import load
from fedbench.suites.tuning import Outcome, Score, choose, trials
from tests.conftest import altered

SMOKE, SPACE = load("smoke"), load_space("axes")


@pytest.fixture(scope="module")
def model() -> Record:
    return run("digits-demo", "fedavg", overrides=["budget.seconds=3", "targets=[{value: 0.5}, {value: 0.8}]"])[0]


def made(model: Record, accuracies: Sequence[float], state: str = "finished") -> Outcome:
    """Of a run whose accuracy at every virtual second, from 0 on, is given."""
    one = altered(model, {"outcome.state": state, "final.test_accuracy": accuracies[-1]})
    curves = {name: column[: len(accuracies)] for name, column in model.curves.items()}
    curves["test_accuracy"] = np.array(accuracies, np.float32)
    return Outcome.of(one.model_copy(update={"curves": curves}))


def test_trials_see_neither_the_seeds_nor_the_examples_of_a_comparison() -> None:
    found = list(trials(SMOKE, SPACE, SMOKE.points[:1], ["fedavg", "fedbuff"]))
    assert [trial.number for trial in found] == [0, 1, 2, 3, 4] * 2
    for trial in found:
        for spec in trial.specs:
            assert spec.scenario.validation is not None
            assert spec.seed in {100, 101}
    assert found[5].specs[0].algorithm.options()["concurrency"] == 5
    assert found[6].specs[0].algorithm.options()["local_lr"] == found[6].options["local_lr"]


def test_fewest_misses_then_time_then_accuracy_then_the_first(model: Record) -> None:
    """Grid points are 1 s apart; targets 0.5 and 0.8; a miss counts with the budget of 3 s."""
    never = Score.of([made(model, [0.1, 0.6, 0.7, 0.7])])
    late = Score.of([made(model, [0.1, 0.4, 0.5, 0.8])])
    early = Score.of([made(model, [0.1, 0.5, 0.8, 0.8])])
    better = Score.of([made(model, [0.1, 0.5, 0.8, 0.9])])
    assert (never.misses, never.restricted_mean_seconds) == (1, (1 + 3) / 2)
    assert (late.misses, late.restricted_mean_seconds) == (0, 2.5)
    assert better.order < early.order < late.order < never.order
    assert never.restricted_mean_seconds < late.restricted_mean_seconds, "yet it missed"


def test_a_run_that_does_not_finish_misses_everything(model: Record) -> None:
    score = Score.of([made(model, [0.1, 0.9, 0.9, 0.9], state="diverged"), made(model, [0.1, 0.9, 0.9, 0.9])])
    assert (score.misses, score.unfinished) == (2, 1)
    assert score.restricted_mean_seconds == (3 + 3 + 1 + 1) / 4
    assert score.validation_accuracy == pytest.approx(0.45)


def test_the_choice_says_what_it_was_chosen_from(model: Record) -> None:
    curves = ([0.1, 0.2, 0.3, 0.4], [0.1, 0.8, 0.8, 0.8], [0.1, 0.8, 0.8, 0.8])
    options: dict[int, dict[str, Any]] = {i: {"local_lr": i} for i in range(3)}
    found = {i: [made(model, curve)] for i, curve in enumerate(curves)}
    chosen = choose(options, found)
    assert (chosen.trial, chosen.options, chosen.trials, chosen.unfinished) == (1, {"local_lr": 1}, 3, 0)
    assert chosen.spread["validation_accuracy"][0] == pytest.approx(0.4)
    assert chosen.spread["validation_accuracy"][-1] == pytest.approx(0.8)
    other = {**found, 2: [replace(found[2][0], result="0" * 32)]}
    assert choose(options, other).digest != chosen.digest


def test_no_targets_no_choice(model: Record) -> None:
    with pytest.raises(UsageError, match="no targets"):
        Score.of([replace(made(model, [0.1, 0.2]), targets=(), reached=())])


def test_a_suite_without_tuning() -> None:
    with pytest.raises(UsageError, match="suite smoke: it has no part `tuning`"):
        tuning.tuning_of(SMOKE.model_copy(update={"tuning": None}))


def test_tuning_from_runs_to_the_files(tmp_path: Path) -> None:
    """Real runs; and the table of trials stands for their records."""
    found = list(trials(SMOKE, SPACE, SMOKE.points[:1], ["fedavg"]))
    store, table = Store(tmp_path / "store"), tmp_path / "trials.parquet"
    assert tuning.outcomes(found[0], store, {}) is None
    tally = campaign.compute([spec for trial in found for spec in trial.specs], store)
    assert (tally.wanted, tally.there, tally.before, tally.failed) == (10, 10, 0, ())
    assert all(record.final.evaluated_on == "validation" for record in store)
    runs = {trial.number: tuning.outcomes(trial, store, {}) or [] for trial in found}
    options = {trial.number: trial.options for trial in found}
    chosen = choose(options, runs)
    assert Score.of(runs[chosen.trial]).order == min(Score.of(of_one).order for of_one in runs.values())
    file = tmp_path / "smoke.yaml"
    file.write_text(tuned.as_yaml(tuned.content(SMOKE, SPACE, {("calm", "fedavg"): chosen})))
    frozen = tuned.read(file, SMOKE)
    rows = {(point, row): specs for point, row, specs in tuned.rows(SMOKE, frozen, SMOKE.points, SMOKE.selectors())}
    published = {(point.name, selector) for point in SMOKE.points for selector in SMOKE.selectors()}
    assert set(rows) == published | {("calm", "fedavg (tuned)")}
    first, *others = rows["calm", "fedavg (tuned)"]
    assert [spec.seed for spec in (first, *others)] == [0, 1, 2]
    assert first.algorithm.options() == SMOKE.algorithm("fedavg", chosen.options).options()
    assert first.scenario.validation is None, "what is compared is measured on the test set"
    with pytest.raises(UsageError, match=r"they are of suite smoke \(\w+\), expected smoke \(\w+\)"):
        tuned.read(file, SMOKE.model_copy(update={"options": {"concurrency": 6}}))
    trials_table.write(table, [(trial, runs[trial.number]) for trial in found], SMOKE.design_hash())
    known = trials_table.read(table, SMOKE.design_hash())
    with pytest.raises(RecordError, match=r"they are of design \w+, expected 0123456789abcdef; move the file away"):
        trials_table.read(table, "0123456789abcdef")
    nothing = Store(tmp_path / "nothing")
    assert {trial.number: tuning.outcomes(trial, nothing, known) for trial in found} == runs
    assert choose(options, {number: list(of_one) for number, of_one in runs.items()}) == chosen


def test_a_table_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "trials.parquet"
    file.write_bytes(b"no table")
    with pytest.raises(RecordError, match=r"trials .*: cannot be read"):
        trials_table.read(file, SMOKE.design_hash())
