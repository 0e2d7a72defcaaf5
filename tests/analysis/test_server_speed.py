"""The time to a target with a slow server: by hand, against runs with one, and its inverse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fedbench import registry
from fedbench.analysis.server_speed import Arrival, Clock, arrival, mean_seconds, overlapped, serial, speed_for
from fedbench.engine.run import Run
from fedbench.engine.spec import RunSpec
from fedbench.results.record import Record
from fedbench.scenarios.load import load
from fedbench.scenarios.schema import Target
from fedbench.types import ServerWork

TARGET = Target(value=0.8)
WORK = ServerWork(forward=6, gradients=8)  # 10 gradients an update
THREE = Arrival(9.0, np.array([1.0, 2.0, 8.0]), WORK)


def test_by_hand() -> None:
    """Updates begin at 1, 2 and 8 s, and the target is seen at 9 s."""
    assert THREE.gradients == 30
    assert [serial(THREE, speed) for speed in (30, 10, 1)] == pytest.approx([10, 12, 39])
    assert overlapped(THREE, 20) == pytest.approx(9), "done before it is looked at"
    assert overlapped(THREE, 5) == pytest.approx(8 + 2), "the last update alone"
    assert overlapped(THREE, 2) == pytest.approx(1 + 3 * 5), "one after the other from the first on"
    late = Arrival(9.0, np.array([1.0, 7.5, 7.5]), WORK)
    assert overlapped(late, 5) == pytest.approx(7.5 + 2 * 2), "the last two queue"


def test_work_before_the_first_job_delays_both() -> None:
    begins = Arrival(9.0, THREE.begun, WORK._replace(first_forward=3, first_gradients=9))
    assert serial(begins, 10) == pytest.approx(12 + 1)
    assert overlapped(begins, 5) == pytest.approx(10 + 2)
    at_once = Arrival(0.0, np.empty(0), begins.work)
    assert (serial(at_once, 10), overlapped(at_once, 10)) == (pytest.approx(1), pytest.approx(1))


def test_a_record_is_read_up_to_its_grid(record: Callable[..., Record]) -> None:
    """Of 7 updates, the first three are seen at 5 s, and so began after 0 s."""
    columns = {"version": (0, 3, 7, 8, 9, 9)}
    one = record(curve=(0.1, 0.5, 0.8, 0.8, 0.9, 0.9), seconds=(0, 5, 10, 11, 12, 20), columns=columns)
    found = arrival(one, TARGET)
    assert found is not None
    assert found.seconds == 10
    assert found.begun.tolist() == [0, 0, 0, 5, 5, 5, 5]
    assert found.work == ServerWork()
    assert overlapped(found, 1e-9) == serial(found, 1e-9) == 10
    assert arrival(one, Target(value=0.95)) is None
    assert arrival(one, Target(value=0.9)) is None, "it is not held before the run ends"
    first = arrival(one, Target(value=0.05))
    assert first is not None
    assert (first.seconds, len(first.begun)) == (0, 0)


@pytest.mark.parametrize("clock", [serial, overlapped])
def test_the_speed_for_a_time_is_the_inverse(clock: Clock) -> None:
    arrivals = [THREE, Arrival(4.0, np.array([1.0, 2.0]), WORK)]
    assert np.mean([one.seconds for one in arrivals]) == 6.5
    for seconds in (6.6, 8.0, 50.0, 3000.0):
        speed = speed_for(arrivals, seconds, clock)
        assert speed is not None
        assert mean_seconds(arrivals, speed, clock) == pytest.approx(seconds, rel=1e-6)
        assert mean_seconds(arrivals, speed / 1.1, clock) > seconds
    assert speed_for(arrivals, 6.5, clock) is None, "it has no lead"
    assert speed_for([Arrival(4.0, np.array([1.0]), ServerWork())], 100.0, clock) is None, "its server has no work"


def test_serial_is_in_closed_form() -> None:
    """(30 + 20) / 2 gradients in the 2 s by which the mean may grow."""
    assert speed_for([THREE, Arrival(4.0, np.array([1.0, 2.0]), WORK)], 8.5, serial) == pytest.approx(25 / 2)


def run(speed: float | None) -> Record:
    options = ["evaluation.every_seconds=0.05", "budget.seconds=12", "task.model=softmax"]
    options += [] if speed is None else [f"server.gradients_per_second={speed}"]
    return Run(RunSpec(load("digits-demo", options), registry.algorithm("fedecho[buffer_size=4]"), 1)).record()


def test_the_clock_of_a_stream_is_the_overlapped_one() -> None:
    """284 / 0.75 gradients an update, one in about 0.15 s. Times are known up to a point of the
    grid of 0.05 s."""
    fast = run(None)
    for speed in (20_000.0, 2_500.0, 1_000.0):
        slow = run(speed)
        version = slow.curves["version"]
        for u in (1, 5, int(version[-1])):
            seen = np.searchsorted(fast.curves["version"], np.arange(1, u + 1))
            seconds = float(fast.curves["seconds"][seen[-1]])
            one = Arrival(seconds, fast.curves["seconds"][seen - 1], ServerWork(forward=4 * 142, gradients=142))
            got = float(slow.curves["seconds"][np.searchsorted(version, u)])
            assert overlapped(one, speed) <= got + 1e-9
            assert got <= min(overlapped(one, speed) + 0.1, serial(one, speed) + 0.05) + 1e-9
