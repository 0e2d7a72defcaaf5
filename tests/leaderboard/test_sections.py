"""Rows as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fedbench.documents.section import Provenance, Row, Section
from fedbench.leaderboard.document import of_records
from fedbench.leaderboard.pictures.histogram import histogram
from fedbench.results.record import Record
from tests.conftest import alter

Make = Callable[..., Record]


def section_of(*runs: Record, axis: str = "seconds") -> Section:
    (found,) = of_records(runs, "title", axis=axis).sections["given"].values()
    return found


def row_of(*runs: Record) -> Row:
    (row,) = section_of(*runs).rows
    return row


@pytest.mark.parametrize(
    ("provenance", "expected"),
    [
        ({}, "checked"),
        ({"dirty": True}, "self-reported"),
        ({"dirty": None}, "self-reported"),
        ({"commit": None}, "self-reported"),
    ],
)
def test_a_row_is_worth_what_its_worst_record_is(record: Make, provenance: dict[str, Any], expected: str) -> None:
    good, other = record(seed=0), record(seed=1)
    alter(other, "provenance", provenance)
    assert row_of(good, other).validity == expected


@pytest.mark.parametrize("points", [1, 3])
def test_a_run_that_stops_at_its_target_has_no_accuracy_to_compare(record: Make, points: int) -> None:
    """Its row says so, and there is no horizon. Whether it would have held the target is not
    known."""
    runs = [record(seed=seed, ended_by="target") for seed in (0, 1)]
    for run in runs:
        alter(run, "spec.scenario.budget", {"stop_at_target": True, "hold_points": points})
    scenario = section_of(*runs)
    (row,) = scenario.rows
    assert row.left_out == "2 of 2 seeds told to stop at a target"
    assert row.accuracy.standing == "unknown"
    assert scenario.horizon.at is None
    assert (row.to_target[0].hits, row.to_target[0].beyond) == (0, 10.0)


def test_staleness_is_of_all_consumed_jobs(record: Make) -> None:
    """A ledger's histogram ends somewhere; what is staler is missing from the shares, and said."""
    one, other = record(seed=0), record(seed=1)
    known = {
        "staleness_mean": 1.0,
        "staleness_max": 300,
        "participation_min": 1,
        "participation_max": 7,
        "participation_gini": 0.25,
    }
    alter(one, "ledger", {"staleness_histogram": [5, 3], "jobs_consumed": 10, **known})
    alter(other, "ledger", {"staleness_histogram": [10], "jobs_consumed": 10, **known})
    row = row_of(one, other)
    shares = row.staleness
    assert shares == (0.75, 0.15)
    assert row.participation is not None
    assert (row.participation.least, row.participation.mean, row.participation.most) == (1, 0.1, 7), (
        "ten results a seed, a hundred clients"
    )
    assert "; 10 % are beyond 1" in histogram(shares, "title")
    assert "beyond" not in histogram([0.5, 0.5], "title")


@pytest.mark.parametrize("ledger", [{}, {"staleness_histogram": [0, 0], "jobs_consumed": 0}, {"staleness_histogram": []}])
def test_nothing_consumed_has_no_histogram(record: Make, ledger: dict[str, Any]) -> None:
    run = record()
    alter(run, "ledger", ledger)
    row = row_of(run)
    assert (row.staleness, row.participation) == ((), None)
    assert histogram([], "title") == histogram([0.0, 0.0], "title") == ""


def test_curves_are_there_for_every_axis_and_long_ones_are_thinned(record: Make) -> None:
    run = record(curve=[0.5] * 1000)
    curves = row_of(run).curves
    assert set(curves) == {"seconds", "updates", "gradient_evaluations", "bytes"}, "local steps are the simulation's"
    assert len(curves["seconds"].at) <= 121
    assert curves["seconds"].at[-1] == 4995.0


def test_local_steps_are_drawn_where_rows_are_compared_on_them(record: Make) -> None:
    assert "steps" in section_of(record(), axis="steps").rows[0].curves


def test_what_all_runs_share_is_said_once(record: Make) -> None:
    """A run has what is its own, and the two together are its provenance."""
    one, other = record(seed=0), record(seed=1)
    alter(one, "provenance", {"wall_seconds": 1.5, "gpu": "A"})
    alter(other, "provenance", {"wall_seconds": 2.5})
    row = row_of(one, other)
    assert [run.provenance.wall_seconds for run in row.runs] == [1.5, 2.5]
    assert row.provenance.gpu is None, "the other one has none"
    assert row.provenance.commit == one.provenance.commit
    for made, run in zip(row.made, (one, other), strict=True):
        shown = {name: value for name, value in run.provenance if value and name in Provenance.model_fields}
        assert made.model_dump(exclude_defaults=True) == shown | {"dirty": False}
