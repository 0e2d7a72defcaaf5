"""Options are found by a fixed rule, from runs that no comparison sees."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.suites import campaign, tuning
from fedbench.suites.runner import run
from fedbench.suites.space import load as load_space
from fedbench.suites.suite import load
from fedbench.suites.tuning import Score, Trial, choose, trials

SMOKE, SPACE = load("smoke"), load_space("axes")


@pytest.fixture(scope="module")
def model() -> Record:
    return run("digits-demo", "fedavg", overrides=["budget.seconds=3", "targets=[{value: 0.5}, {value: 0.8}]"])[0]


def made(model: Record, accuracies: Sequence[float], state: str = "finished", final: float | None = None) -> Record:
    """A record whose accuracy at every virtual second, from 0 on, is given."""
    meta: dict[str, Any] = copy.deepcopy(model.meta)
    meta["outcome"]["state"] = state
    meta["final"]["test_accuracy"] = accuracies[-1] if final is None else final
    curves = {name: column[: len(accuracies)] for name, column in model.curves.items()}
    return Record(meta, {**curves, "test_accuracy": np.array(accuracies, np.float32)})


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
    found = {i: (Trial("calm", "fedavg", i, {"local_lr": i}, ()), [made(model, curve)]) for i, curve in enumerate(curves)}
    chosen = choose(found)
    assert (chosen.trial, chosen.options, chosen.trials, chosen.unfinished) == (1, {"local_lr": 1}, 3, 0)
    assert chosen.spread["validation_accuracy"][0] == pytest.approx(0.4)
    assert chosen.spread["validation_accuracy"][-1] == pytest.approx(0.8)
    assert choose({**found, 2: (found[2][0], [made(model, [0.1, 0.1, 0.1, 0.1])])}).digest == chosen.digest, (
        "of ids and results alone"
    )
    other = copy.deepcopy(found)
    other[2][1][0].meta["digests"]["result"] = "0" * 32
    assert choose(other).digest != chosen.digest


def test_no_targets_no_choice(model: Record) -> None:
    record = made(model, [0.1, 0.2])
    record.meta["spec"]["scenario"]["targets"] = []
    with pytest.raises(Exception, match="no targets"):
        Score.of([record])


def test_a_suite_without_tuning() -> None:
    with pytest.raises(UsageError, match="suite smoke: it has no part `tuning`"):
        tuning.tuning_of(SMOKE.model_copy(update={"tuning": None}))


def test_tuning_from_runs_to_the_file(tmp_path: Path) -> None:
    """Real runs; the same choice from the same records, whatever else is in the store."""
    found = list(trials(SMOKE, SPACE, SMOKE.points[:1], ["fedavg"]))
    store = Store(tmp_path / "store")
    assert tuning.records_of(found[0], store) is None
    tally = campaign.compute([spec for trial in found for spec in trial.specs], store)
    assert (tally.wanted, tally.there, tally.before, tally.failed) == (10, 10, 0, ())
    records = {trial.number: (trial, tuning.records_of(trial, store) or []) for trial in found}
    chosen = choose(records)
    scores = {number: Score.of(runs) for number, (_, runs) in records.items()}
    assert scores[chosen.trial].order == min(score.order for score in scores.values())
    assert all(run.meta["final"]["evaluated_on"] == "validation" for _, runs in records.values() for run in runs)
    content = tuning.tuned_content(SMOKE, SPACE, {("calm", "fedavg"): chosen})
    again = yaml.safe_load(tuning.as_yaml(content))
    assert again["points"]["calm"]["fedavg"]["options"] == chosen.options
    assert again["suite_hash"] == SMOKE.content_hash()
    assert campaign.compute([found[0].specs[0]], store).before == 1
