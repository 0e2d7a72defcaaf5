"""Whole runs on digits: records, resume after SIGKILL, verify, divergence, closed forms of the
ledger."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.evaluate import Evaluator
from fedbench.engine.measures import Parts
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.scenarios.system import slowdowns
from tests.conftest import altered

FIXED = "network={download_megabit_per_second: 100, upload_megabit_per_second: 100, message: fixed, message_megabytes: 0.25}"
SMALL = ["clients=6", "budget.seconds=6", "local.steps=3", "task.model=softmax", FIXED]
EQUAL = [*SMALL, "compute={kind: per_job, time: {distribution: constant, seconds: 1}}", "partition={kind: iid}"]


def spec(selector: str, *overrides: str, seed: int = 0) -> RunSpec:
    return RunSpec(load("digits-demo", [*SMALL, *overrides]), registry.algorithm(selector), seed)


def run(selector: str, *overrides: str, **options: Any) -> Record:
    return Run(spec(selector, *overrides), options=RunOptions(**options)).record()


def digests(record: Record) -> dict[str, str]:
    found: dict[str, str] = record.digests.as_dict()
    return found


def test_workers_and_waves_change_no_digest() -> None:
    wanted = digests(run("fedbuff[buffer_size=2]"))
    assert digests(run("fedbuff[buffer_size=2]", workers=2)) == wanted
    assert digests(run("fedbuff[buffer_size=2]", wave_size=1)) == wanted
    assert digests(run("fedbuff[buffer_size=2]", workers=2, wave_bytes=1)) == wanted


def test_common_random_numbers() -> None:
    """Inputs depend on scenario and seed only; plan and model also on the algorithm."""
    a, b = (digests(run(s)) for s in ("fedavg[cohort_size=2]", "fedbuff[buffer_size=2]"))
    assert a["inputs"] == b["inputs"]
    assert a["plan"] != b["plan"]
    other = Run(spec("fedavg[cohort_size=2]", seed=1)).record()
    assert digests(other)["inputs"] != a["inputs"]


def test_fedbuff_with_everybody_is_fedavg_bit_for_bit() -> None:
    a = run("fedbuff[buffer_size=6]", *EQUAL)
    b = run("fedavg[sampling=all]", *EQUAL)
    assert digests(a)["model"] == digests(b)["model"]
    assert np.array_equal(a.curves["test_accuracy"], b.curves["test_accuracy"])


def test_a_record_and_its_curves() -> None:
    record = run("fedavg[cohort_size=2]")
    assert record.outcome.as_dict() == {"state": "finished", "ended_by": "time", "message": ""}
    assert record.curves["seconds"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert (np.diff(record.curves["version"]) >= 0).all()
    assert record.curves["version"][0] == 0
    assert (np.diff(record.curves["steps"]) >= 0).all()
    assert record.curves["test_accuracy"][-1] == np.float32(record.final.test_accuracy)
    assert record.curves["version"][-1] == record.ledger.updates
    final = record.final
    assert 0 <= final.client_accuracy_worst_decile <= final.client_accuracy_mean <= 1
    (hit,) = record.time_to_target
    assert hit.censored_at == 6


def test_a_record_says_how_many_workers_it_took() -> None:
    assert run("fedavg[cohort_size=2]", "budget.updates=1", workers=2).provenance.workers == 2


def test_the_worst_decile_is_a_tenth_of_the_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of twenty clients the two with the lowest accuracies, 0 and 0.05, wherever they stand."""
    clients, none = np.arange(20)[::-1] / 20, np.empty(0)
    monkeypatch.setattr(Evaluator, "parts", lambda self, x, buffers: Parts(clients, clients, none, none))
    final = run("fedavg[cohort_size=2]", "clients=20", "budget.updates=1").final.as_dict()
    assert final["client_accuracy_mean"] == pytest.approx(0.475)
    assert final["client_accuracy_worst_decile"] == pytest.approx(0.025)


def test_a_missed_target_is_censored_where_the_plan_ended() -> None:
    """The cap on updates ends the run long before its budget of 6 s."""
    record = run("fedavg[cohort_size=2]", "budget.updates=1", "targets=[{value: 0.999}]")
    (miss,) = record.time_to_target
    assert miss.seconds is None
    assert miss.censored_at == record.ledger.end_seconds < 2


def test_rounds_ledger_in_closed_form() -> None:
    """All six clients, 1 s of computing and 20 ms each way: rounds of 1.04 s, five of which fit
    into 6 s, the sixth under way."""
    record = run("fedavg[sampling=all]", *EQUAL)
    ledger, vector = record.ledger, 4 * 650
    assert ledger.updates == 5
    assert ledger.bytes_down == 6 * 6 * vector
    assert ledger.bytes_up == 6 * 5 * vector
    assert ledger.bytes_wasted == 6 * vector
    assert ledger.busy_seconds == pytest.approx(6 * (5 * 1.0 + (6 - 5 * 1.04 - 0.02)))
    assert ledger.busy_fraction == pytest.approx(ledger.busy_seconds / 36)
    assert (ledger.trained_steps, ledger.avoided_steps) == (6 * 5 * 3, 6 * 3)
    assert ledger.staleness_histogram == (30,)
    assert (ledger.participation_min, ledger.participation_max, ledger.participation_gini) == (5, 5, pytest.approx(0))
    assert record.curves["steps"].tolist() == [0, 0, 18, 36, 54, 72, 90]
    assert record.curves["bytes"][0] == 6 * vector
    assert record.curves["bytes"][-1] == ledger.bytes_down + ledger.bytes_up


def test_scaffold_sends_twice_as_much_and_pays_for_its_first_gradient() -> None:
    network = "network={download_megabit_per_second: 1, upload_megabit_per_second: 1}"
    plain = run("scaffold[sampling=all]", *EQUAL[:-2], "partition={kind: iid}", network)
    record = run("scaffold[sampling=all,init_control=grad]", *EQUAL[:-2], "partition={kind: iid}", network)
    vector = 4 * 650
    assert plain.ledger.bytes_down == plain.ledger.jobs * 2 * vector
    assert record.ledger.bytes_down == (record.ledger.jobs * 2 + 6) * vector
    assert record.ledger.updates < plain.ledger.updates


def test_fedlin_pays_for_a_full_gradient_every_round() -> None:
    """All wait for the slowest client's pass over its examples, every round; the exchange itself is
    in its traffic."""
    plain, exact = (Setup(spec(selector)) for selector in ("fedavg[sampling=all]", "fedlin"))
    seconds = 0.02 * np.max(slowdowns(exact.scenario.compute.slowdown, 6, 0) * np.ceil(exact.sizes / 10))
    assert seconds > 0.3
    assert exact.timing().download.a == pytest.approx(plain.timing().download.a + seconds)
    assert exact.timing().start_seconds == 0
    two = ("budget.updates=2", "budget.seconds=99")
    ledger = run("fedlin", *two).ledger
    assert (ledger.updates, ledger.bytes_up, ledger.bytes_down) == (2, 2 * 6 * 2 * 2600, 2 * 6 * 2 * 2600)
    slowest = 0.02 * np.max(slowdowns(exact.scenario.compute.slowdown, 6, 0))
    plain_end = run("fedavg[sampling=all]", *two).ledger.end_seconds
    assert ledger.end_seconds == pytest.approx(plain_end + 2 * (seconds + 3 * slowest))  # and every step has a second gradient


def test_broadcast_pays_for_every_copy() -> None:
    record = run("defedavg_iid[cohort_size=3]", *EQUAL)
    ledger, vector = record.ledger, 4 * 650
    assert ledger.bytes_down == 6 * (ledger.updates + 1) * vector
    assert record.curves["bytes"][-1] == ledger.bytes_down + ledger.bytes_up
    assert ledger.bytes_wasted > 0


def test_centralised_is_one_worker_with_everybodys_examples() -> None:
    """3 steps of 0.02 s an update, six clients' examples in one shard, nothing sent; the record is
    of the scenario as it is."""
    flaky = ("availability={kind: periodic, period_seconds: 2, on_fraction: 0.5}", "dropout=0.5", "rounds.deadline_seconds=0.1")
    record = run("centralised[local_lr=0.1]", *flaky, "budget.updates=50")
    ledger = record.ledger
    assert (ledger.updates, ledger.steps_done, ledger.jobs_left, ledger.jobs_dropped_out) == (50, 150, 0, 0)
    assert ledger.end_seconds == pytest.approx(50 * 3 * 0.02)
    assert ledger.bytes_down == ledger.bytes_up == 0
    assert ledger.busy_fraction == pytest.approx(1)
    assert record.spec.scenario.clients == 6
    assert record.final.test_accuracy > 0.8
    setup = Setup(spec("centralised", *flaky))
    assert [len(rows) for rows in setup.shards] == [1442 - 142]  # all but the public ones
    assert verify(record).verdict == "identical"


def test_memory_and_repeated_jobs_do_not_go_together() -> None:
    with pytest.raises(UsageError, match="sampling must be one of"):
        run("scaffold[sampling=with_replacement]")


def test_a_diverging_run_is_recorded_as_diverged(tmp_path: Path) -> None:
    record = Run(spec("fedavg[cohort_size=2,local_lr=3e38]"), Store(tmp_path)).record()
    assert record.state == "diverged"
    assert record.final.test_accuracy is None
    assert record.outcome.version == record.final.version
    assert record.ledger.trained_steps == record.final.version * 2 * 3
    (stored,) = list(Store(tmp_path))
    assert stored.as_dict() == record.as_dict()
    assert verify(stored).verdict == "identical"


def test_verify_tells_what_differs(tmp_path: Path) -> None:
    record = Run(spec("fedbuff[buffer_size=2]"), Store(tmp_path)).record()
    assert verify(record).verdict == "identical"
    result = verify(altered(record, {"digests.plan": "0" * 32, "digests.model": "1" * 32}))
    assert (result.verdict, result.first_difference) == ("differs", "digests.plan")
    with pytest.raises(RecordError, match="its specification hashes to"):
        verify(altered(record, {"run_id": "beef" * 4}))


LONG = ("budget.updates=6", "budget.seconds=60")
EXTENSIONS = [  # of the scheduler: limits, stops, closing by a harmonic mean, queues, turns
    "ringmaster[delay_threshold=2]",
    "rennala[buffer_size=3,stop_stale=true]",
    "malenia[buffer_size=8]",
    "generalized_async[concurrency=4]",
    "ringleader",
]


@pytest.mark.parametrize(
    "selector",
    [
        "fedbuff[buffer_size=2]",
        "scaffold[cohort_size=2]",
        "fedac[buffer_size=2,server_lr=0.01]",
        "ca2fl[buffer_size=2]",
        "quafl[cohort_size=2]",
        "favano[cohort_size=2]",
        "fedexp[cohort_size=2]",
        "local_only",
        *EXTENSIONS,
    ],
)
def test_resume_from_any_checkpoint_gives_the_same_digests(selector: str, tmp_path: Path) -> None:
    """Interrupted after every update in turn, by an exception in the observer's place of the next
    one."""
    wanted = run(selector, *LONG)

    class Stop(Exception):
        pass

    for stop_at in range(1, 6):

        def progress(version: int, seconds: float, evaluated: object, stop_at: int = stop_at) -> None:
            if version == stop_at + 1:
                raise Stop

        store = Store(tmp_path / str(stop_at))
        with pytest.raises(Stop):
            Run(spec(selector, *LONG), store, RunOptions(checkpoint_seconds=0), progress).record()
        assert len(store.unfinished()) == 1
        record = Run(spec(selector, *LONG), store, RunOptions(resume=True, workers=2)).record()
        assert digests(record) == digests(wanted)
        assert record.ledger == wanted.ledger
        assert all(np.array_equal(record.curves[name], wanted.curves[name]) for name in wanted.curves)
        assert store.unfinished() == []


def test_a_damaged_checkpoint_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    store = Store(tmp_path)
    one = Run(spec("fedavg[cohort_size=2]"), store, RunOptions(resume=True))
    assert one.partial is not None
    one.partial.mkdir(parents=True)
    (one.partial / "checkpoint.bin").write_bytes(b"PK half")
    with pytest.raises(RecordError, match=r"cannot be read .*delete it to start the run again"):
        one.record()


KILLED = """
import sys
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench import registry
from fedbench.results.store import Store
from fedbench.scenarios.load import load
spec = RunSpec(load("digits-demo", sys.argv[3].split(";")), registry.algorithm(sys.argv[2]), 0)
Run(spec, Store(sys.argv[1]), RunOptions(checkpoint_seconds=0)).record()
"""


@pytest.mark.parametrize("selector", ["scaffold[cohort_size=3]", "fedexp[cohort_size=3]", "local_only", *EXTENSIONS])
def test_killed_half_way_and_resumed(selector: str, tmp_path: Path) -> None:
    """A real SIGKILL, as soon as there is a checkpoint."""
    overrides = [*SMALL, "budget.seconds=60", "local.steps=20"]
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), selector, ";".join(overrides)])
    store, limit = Store(tmp_path), time.monotonic() + 300
    while not list(tmp_path.glob("*/*/*.partial/checkpoint.bin")) and time.monotonic() < limit:
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert list(store) == []
    one = RunSpec(load("digits-demo", overrides), registry.algorithm(selector), 0)
    resumed = Run(one, store, RunOptions(resume=True)).record()
    assert digests(resumed) == digests(Run(one).record())
    assert store.unfinished() == []
