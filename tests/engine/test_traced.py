"""Runs over measured links: what clock, ledger, digests and records make of the part
network.trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import MissingDataError, UsageError
from fedbench.kernels.traces import Traced
from fedbench.places import data_root
from fedbench.results.store import Store
from fedbench.scenarios import trace_files
from fedbench.scenarios.links import links
from fedbench.scenarios.load import load, overrides_of
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.speeds import slowdowns

EQUAL = ["clients=6", "task.model=softmax", "partition={kind: iid}", "compute.slowdown={low: 1, high: 1}", "local.steps=5"]
SHORT = ["budget.updates=4", "budget.seconds=99"]
RATES = "network={download_megabit_per_second: 0.0416, upload_megabit_per_second: 0.0208, latency_seconds: 0.25}"
"""Of 650 numbers, 20,800 bits: half a second down and a second up, and a quarter for each
message."""
SAME = (
    "network={trace: {given: [[[3, 0.0416, 0.25], [4, 0.0416, 0.25]], [[5, 0.0416, 0.25]], [[7, 0.0416, 0.25]], [[1, 0.0416, 0.25]], "
    "[[1, 0.0416, 0.25]], [[9, 0.0416, 0.25]]], upload: {given: [[[2, 0.0208, 0.25]]]}}}"
)
"""The same as traces that happen to be constant."""


def spec(selector: str, *overrides: str) -> RunSpec:
    return RunSpec(load("digits-demo", [*EQUAL, *SHORT, *overrides]), registry.algorithm(selector), 0)


def network(trace: str) -> str:
    return f"network={{trace: {trace}}}"


@pytest.mark.parametrize(
    "selector",
    [
        "fedavg[cohort_size=3]",
        "fedbuff",
        "fedagrac[sampling=all]",
        "fedlin",
        "scaffold[sampling=all]",
        "favano[cohort_size=3]",
        "quafl[cohort_size=3]",
        "defedavg_iid[cohort_size=3]",
        "defedavg_niid[cohort_size=3]",
        "asysg",
    ],
)
def test_constant_traces_have_the_plan_of_rates(selector: str) -> None:
    """Also where the policy computes gradients before the first job (fedagrac) or before every
    round (fedlin), and where one job moves two vectors in two exchanges."""
    rated, traced = (plan(spec(selector, part)) for part in (RATES, SAME))
    assert traced.plan_digest == rated.plan_digest
    assert (traced.end_seconds, traced.updates) == (rated.end_seconds, rated.updates)


@pytest.mark.parametrize(("offset", "end"), [(0, 4.0), (0.5, 3.5), (2.5, 4.1)])
def test_a_round_waits_for_a_link_that_is_down(offset: float, end: float) -> None:
    """A second down and 5 steps of 0.02 s: uploads of a second begin at 1.1 s, over a link that is
    up in the first of every three seconds. With the last offset it is up until 1.5 s, and again
    from 3.5 s."""
    upload = f"upload: {{given: [[[1, 0.0208, 0], [2, 0, 0]]], offset_seconds: {offset}}}"
    facts = plan(spec("fedavg[sampling=all]", "budget.updates=1", network(f"{{given: [[[10, 0.0208, 0]]], {upload}}}")))
    assert facts.end_seconds == pytest.approx(end, abs=2e-9)


def test_links_are_drawn_per_client_and_seed_and_serve_both_ways() -> None:
    scenario = load("digits-demo", ["clients=400", network("{given: [[[30, 1, 0], [70, 2, 0]]]}")])
    down, up = some_links(scenario, 3)
    assert up is down
    shares = np.sort(down.shift_ns / 100e9)
    assert 0 <= shares[0] < 0.02
    assert 0.98 < shares[-1] < 1
    assert np.abs(shares - np.arange(400) / 400).max() < 0.08
    assert (some_links(scenario, 4)[0].shift_ns != down.shift_ns).all()
    both = load(scenario, ["network.trace.upload={given: [[[30, 1, 0], [70, 2, 0]]]}"])
    down_too, other = some_links(both, 3)
    np.testing.assert_array_equal(down_too.shift_ns, down.shift_ns)
    assert (other.shift_ns != down.shift_ns).all()
    slowed = load(scenario, ["compute.slowdown={kind: lognormal, log_sigma: 0.5}"])
    fast = slowdowns(slowed.compute.slowdown, 400, 3) < 1  # type: ignore[union-attr]
    late = some_links(slowed, 3)[0].shift_ns > 50e9
    assert abs(np.corrcoef(fast, late)[0, 1]) < 0.15, "no stream of random numbers serves two things"
    fixed = load(scenario, ["network.trace.offset_seconds=130"])
    assert some_links(fixed, 3)[0].shift_ns.tolist() == [30_000_000_000] * 400


def some_links(scenario: Scenario, seed: int) -> Any:
    found = links(scenario, seed)
    assert found is not None
    return found


def written(place: Path, count: int = 5) -> Path:
    """A folder of logs in which link i has i + 1 times the throughput of link 0."""
    place.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        up = {"duration_ms": 700 + i, "bandwidth_kbps": 21 * (i + 1), "latency_ms": 10}
        log = [up, {"duration_ms": 300, "bandwidth_kbps": 0, "latency_ms": 10}]
        (place / f"{i}.json").write_text(json.dumps(log))
    return place


def test_clients_draw_from_a_folder(tmp_path: Path) -> None:
    scenario = load("digits-demo", ["clients=1000", network(f"{{folder: {written(tmp_path / 't')}}}")])
    down, up = some_links(scenario, 1)
    assert up is down
    assert (np.bincount(down.trace_of) > 150).all()
    assert [int(trace.bits_per_second[0]) for trace in down.traces] == [21_000 * (i + 1) for i in range(5)]
    periods = np.array([1_000_000_000 + 1_000_000 * i for i in range(5)])[down.trace_of]
    assert (down.shift_ns < periods).all()
    few, _ = some_links(load(scenario, ["clients=1"]), 1)
    assert len(few.traces) == 1  # only what somebody has


def test_the_inputs_digest_covers_traces_and_offsets(tmp_path: Path) -> None:
    folder = written(tmp_path / "t")
    before = Setup(spec("fedavg", network(f"{{folder: {folder}}}"))).inputs_digest()
    assert before == Setup(spec("fedbuff", network(f"{{folder: {folder}}}"))).inputs_digest()
    digests = {before, Setup(spec("fedavg", network(f"{{folder: {folder}, offset_seconds: 0}}"))).inputs_digest()}
    for number in range(5):  # those that nobody drew leave the digest as it is; the hash knows them
        log = json.loads((folder / f"{number}.json").read_text())
        log[1]["latency_ms"] = 11
        (folder / f"{number}.json").write_text(json.dumps(log))
    digests.add(Setup(spec("fedavg", network(f"{{folder: {folder}}}"))).inputs_digest())
    digests.add(Setup(spec("fedavg", network("{given: [[[1, 1, 0]]]}"))).inputs_digest())
    digests.add(Setup(spec("fedavg", network("{given: [[[1, 1, 0]]], upload: {given: [[[1, 1, 0]]]}}"))).inputs_digest())
    assert len(digests) == 5


def test_a_record_holds_the_sum_and_runs_again_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the same folder lies; with another content the error names the folder."""
    folder = written(tmp_path / "data" / "network" / "t")
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path / "data"))
    given = spec("fedbuff", network("{folder: network/t}"))
    record = Run(given, Store(tmp_path / "runs"), RunOptions()).record()
    trace = record.spec.scenario.network.trace
    assert trace.folder == "network/t"
    assert trace.sha256 == given.scenario.network.links[""].sha256
    assert verify(record).verdict == "identical"
    again = RunSpec.of(record.spec)
    assert again.run_id == given.run_id
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=r"network.trace.folder network/t: not on this machine"):
        plan(again)
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path / "data"))
    (folder / "3.json").write_text((folder / "2.json").read_text())
    trace_files._read.cache_clear()  # as in another process
    with pytest.raises(UsageError, match=r"folder .*network/t: the sum of its 5 files must be"):
        plan(again)


def test_the_library_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    for name, folder in (("cellular-3g", "3Glogs"), ("cellular-4g", "4Glogs")):
        scenario = load(name)
        assert overrides_of(scenario) == []
        where = rf"network_traces/{folder}: not on this machine; looked for .*{tmp_path}/network_traces"
        with pytest.raises(MissingDataError, match=where):
            plan(RunSpec(scenario, registry.algorithm("fedbuff"), 0))
        assert plan(RunSpec(scenario, registry.algorithm("centralised"), 0)).updates > 0  # which has no network


@pytest.mark.parametrize("name", ["cellular-3g", "cellular-4g"])
def test_asynchronous_algorithms_wait_less_for_links_that_are_down(name: str) -> None:
    scenario = load(name)
    folder = data_root() / str(scenario.network.links[""].folder)
    if not folder.is_dir():
        pytest.skip(f"no {folder}; FEDBENCH_DATA lacks it")
    fedavg, fedbuff = (plan(RunSpec(scenario, registry.algorithm(selector), 0)) for selector in ("fedavg", "fedbuff"))
    assert fedavg.ended_by == fedbuff.ended_by == "time"
    assert 4 * fedavg.updates < fedbuff.updates
    timing = Setup(RunSpec(scenario, registry.algorithm("fedavg"), 0)).timing()
    assert isinstance(timing.download, Traced)
    assert timing.download.bits == 8 * 4 * 21_840
