"""Tuned rows of a suite that halves are checked by the suite's own search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fedbench.submissions.faults import FaultsError
from fedbench.submissions.folder import TRIALS, TUNED
from fedbench.submissions.rows import Row
from fedbench.submissions.tuning import faults, frozen_in, runs
from fedbench.suites import trials, tuned
from fedbench.suites.search import collect
from fedbench.suites.tuning import Outcome
from tests.suites.landscapes import HALVING, SPACE, Landscape, suite

RUNGS = [{"trials": 8, "seeds": 1, "budget_share": 0.4}, {"trials": 2, "seeds": 3, "budget_share": 1}]
SUITE = suite("fedavg", **HALVING, rungs=RUNGS)
HILL = Landscape("fedavg", best=(0.7, 0.3), bowl=(8.0, 8.0))
ROWS = [Row("here", f"fedavg{tuned.TUNED}", ())]


@pytest.fixture(name="files")
def _files(tmp_path: Path) -> dict[str, bytes]:
    ended, choices = collect(SUITE, SPACE, HILL.outcome, {0})
    trials.write(tmp_path / TRIALS, ended, SUITE.design_hash())
    text = tuned.as_yaml(tuned.content(SUITE, SPACE, choices[0]))
    return {TUNED: text.encode(), TRIALS: (tmp_path / TRIALS).read_bytes()}


def found(files: Mapping[str, bytes], changed: Mapping[str, Outcome | None]) -> list[str]:
    """The faults, if these runs have other outcomes, or none."""
    frozen, known = frozen_in(files, SUITE)
    there = {key: one for key, one in {**known, **changed}.items() if one is not None}
    return [one.line for one in faults(ROWS, SUITE, frozen, there)]


def test_its_trials_are_all_there_and_give_its_options(files: dict[str, bytes]) -> None:
    frozen, known = frozen_in(files, SUITE)
    assert found(files, {}) == []
    tried = list(runs(ROWS, SUITE, frozen, known))
    assert {one.spec.run_id for one in tried} == set(known)
    assert any(one.chosen for one in tried)


def test_what_is_missing_or_invented_is_a_fault(files: dict[str, bytes]) -> None:
    _, known = frozen_in(files, SUITE)
    last = max(known.values(), key=lambda one: (one.seed, one.run_id))
    (missing,) = found(files, {last.run_id: None})
    assert "of its trials are missing, the first is run" in missing
    (other,) = found(files, {last.run_id: replace(last, result="0" * 32)})
    assert "digest: its trials give" in other
    first = min(known.values(), key=lambda one: one.seed)
    (bare,) = found(files, {first.run_id: replace(first, area=None)})
    assert f"nothing can be chosen from its trials (run {first.run_id} has no `spent` and `area`" in bare


def test_further_draws_are_not_handed_in(files: dict[str, bytes]) -> None:
    _, choices = collect(SUITE, SPACE, HILL.outcome, {0, 4})
    both = tuned.as_yaml(tuned.content(SUITE, SPACE, choices[0], {4: choices[4]}))
    with pytest.raises(FaultsError) as error:
        frozen_in({**files, TUNED: both.encode()}, SUITE)
    assert "draws: a submission has the first draw only, got also 4" in error.value.faults[0].line
