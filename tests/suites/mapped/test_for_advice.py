"""What advice rests on, made of the results of a suite."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

import fedbench as fb
from fedbench.analysis.map import saved
from fedbench.errors import UsageError
from fedbench.suites.advice import made
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped.fitting import Fitted
from fedbench.suites.mapped.statements import Map

DAY = "2026-12-01"


def test_it_says_what_it_rests_on(
    results: Results, fitted: Fitted, said: Map, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where levels would be those that are measured; the small suite has ratios of speeds."""
    monkeypatch.setattr(made, "NEAR", math.inf)
    saved.write(tmp_path / "map.npz", made.of_results(results, fitted, said, DAY))
    found = saved.read(tmp_path / "map.npz")
    assert set(found.costs) == set(fitted.whole)
    assert {axis: one.predicts for axis, one in found.costs.items()} == {one.axis: one.predicts for one in said.judged}
    assert (found.about.commit, found.about.made, found.about.records) == (results.commits[0], DAY, len(results.runs))
    assert (found.about.seeds, found.about.public_data) == (said.seeds, tuple(said.public_data))
    assert fb.advise(results.suite.scenario_at(results.suite.points[0]), map=tmp_path / "map.npz").basis.startswith(
        "Rests on suite small"
    )


def test_a_level_that_is_not_what_is_measured_is_refused(results: Results, fitted: Fitted, said: Map) -> None:
    with pytest.raises(UsageError, match=r"^suite small: factor spread is \d at design-\d+, where .* is measured"):
        made.of_results(results, fitted, said, DAY)


def test_runs_of_two_commits_are_refused(results: Results, fitted: Fitted, said: Map) -> None:
    (point, rows), *others = results.seats.items()
    (row, runs), *rest = rows.items()
    other = runs[0].model_copy(update={"provenance": runs[0].provenance.model_copy(update={"commit": "f" * 40})})
    mixed = replace(results, seats={point: {row: [other, *runs[1:]], **dict(rest)}, **dict(others)})
    with pytest.raises(UsageError, match=r"^suite small: its runs are of 2 commits, .*; advice rests on one$"):
        made.of_results(mixed, fitted, said, DAY)
