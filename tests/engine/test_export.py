"""Plans as files: what is written is what was planned."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from fedbench import registry
from fedbench.engine.export import write_parquet, write_trace
from fedbench.engine.plan import plan
from fedbench.engine.spec import RunSpec
from fedbench.scenarios.load import load

FLAKY = RunSpec(
    load("digits-flaky", ["clients=6", "budget.seconds=9", "rounds.deadline_seconds=1.2"]),
    registry.algorithm("fedavg[cohort_size=3]"),
    0,
)
SPEC = RunSpec(load("digits-demo", ["clients=6", "budget.seconds=4"]), registry.algorithm("fedbuff[buffer_size=2]"), 0)


@pytest.mark.extra("frame")
def test_parquet_holds_the_plan(tmp_path: Path) -> None:
    write_parquet(SPEC, tmp_path)
    jobs, updates = (pq.read_table(tmp_path / f"{name}.parquet").to_pandas() for name in ("jobs", "updates"))
    summary = plan(SPEC)
    assert len(jobs) == summary.jobs
    assert (jobs["consumed_by"] >= 0).sum() == summary.jobs_consumed
    assert updates["version"].tolist() == list(range(1, summary.updates + 1))
    assert updates["entries"].sum() == summary.jobs_consumed
    tau = jobs["consumed_by"] - jobs["base"]
    assert np.isclose(tau[jobs["consumed_by"] >= 0].mean(), summary.staleness_mean)


def test_the_trace_is_a_timeline(tmp_path: Path) -> None:
    count = write_trace(SPEC, tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == count
    trained = [e for e in events if e["name"].startswith("train")]
    assert len(trained) == plan(SPEC).jobs
    assert sum(e["ph"] == "i" for e in events) == plan(SPEC).updates
    for client in range(6):  # a client trains one job at a time
        own = sorted((e["ts"], e["dur"]) for e in trained if e["tid"] == client)
        assert all(a + duration <= b + 1e-6 for (a, duration), (b, _) in itertools.pairwise(own))
    first = min(trained, key=lambda e: (e["ts"], e["tid"]))
    assert first["ts"] == pytest.approx(15_010 * 32 / 24, abs=1)  # microseconds of 15,010 float32 at 24 Mbit/s


@pytest.mark.parametrize(
    ("scenario", "selector", "has_several"),
    [
        ("digits-demo", "fedbuff", False),
        ("digits-demo", "defedavg_iid", True),
        ("digits-demo", "generalized_async", True),
        ("digits-flaky", "defedavg_niid", True),
        ("digits-flaky", "fedbuff", False),
    ],
)
def test_no_slices_of_a_thread_overlap_and_every_thread_has_a_name(
    scenario: str, selector: str, has_several: bool, tmp_path: Path
) -> None:
    """Also where a client has several jobs at once, and in whole microseconds, to which viewers
    cut."""
    spec = RunSpec(load(scenario, ["budget.seconds=9"]), registry.algorithm(selector), 0)
    write_trace(spec, tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    slices = sorted((e["pid"], e["tid"], e["ts"], e["dur"]) for e in events if e["ph"] == "X")
    assert all(isinstance(time, int) for one in slices for time in one)
    for (row, thread, begin, duration), (other, next_thread, following, _) in itertools.pairwise(slices):
        assert (row, thread) != (other, next_thread) or begin + duration <= following
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert named >= {(row, thread) for row, thread, _, _ in slices}
    assert any("at once" in e["args"]["name"] for e in events if e["name"] == "thread_name") == has_several


def test_the_trace_shows_what_came_to_nothing_and_who_was_away(tmp_path: Path) -> None:
    """Slices of training add up to the ledger's busy time, and none lies in an absence."""
    write_trace(FLAKY, tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    summary = plan(FLAKY)
    slices = [e for e in events if e["ph"] == "X"]
    lost, late = ({(e["tid"], e["args"]["k"]) for e in slices if e["name"].endswith(f"({fate})")} for fate in ("lost", "late"))
    assert len(lost) == summary.jobs_left + summary.jobs_dropped_out > 0
    assert len(late) == summary.jobs_late > 0
    end = summary.end_seconds * 1e6
    trained = [
        (e["tid"], e["ts"], min(e["ts"] + e["dur"], end)) for e in slices if e["name"].startswith("train") and e["ts"] < end
    ]
    busy = summary.busy_fraction * summary.end_seconds * 6
    assert np.isclose(sum(until - begin for _, begin, until in trained) / 1e6, busy)
    away = [(e["tid"], e["ts"], e["ts"] + e["dur"]) for e in slices if e["name"] == "away"]
    assert np.isclose(sum(until - begin for _, begin, until in away) / end / 6, 1 - summary.available_fraction)
    for client, begin, until in trained:
        assert all(until <= left + 1e-3 or back <= begin + 1e-3 for c, left, back in away if c == client)
    write_parquet(FLAKY, tmp_path)
    assert (pq.read_table(tmp_path / "jobs.parquet")["t_lost"].to_numpy() >= 0).sum() >= len(lost)


def test_a_plan_may_end_early(tmp_path: Path) -> None:
    """As that of a run that stopped at its target."""
    write_parquet(SPEC, tmp_path, end_seconds=2.0)
    short = RunSpec(load(SPEC.scenario, ["budget.seconds=2"]), SPEC.algorithm, 0)
    assert len(pq.read_table(tmp_path / "jobs.parquet")) == plan(short).jobs < plan(SPEC).jobs
    assert write_trace(SPEC, tmp_path / "a.json", end_seconds=2.0) == write_trace(short, tmp_path / "b.json")
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
