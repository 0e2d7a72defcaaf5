"""Files as others publish them, and what is made of them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from fedbench.errors import UsageError
from fedbench.scenarios import imports
from fedbench.scenarios.device_files import read_devices
from fedbench.scenarios.trace_files import read_trace
from fedbench.scenarios.windows import read_windows

LOG = "1289406399 549692 59.851754 10.781778 248069 1008\n1289406400 550772 59.851864 10.781833 0 1080\n"
"""Two lines as the logs of 3G links have them."""


def pickled(place: Path, content: Any) -> Path:
    (place / "published").write_bytes(pickle.dumps(content))
    return place / "published"


def kept(place: Path, imported: imports.Imported, name: str) -> Path:
    (place / name).write_text(imported.text)
    return place / name


def test_a_log_of_six_columns(tmp_path: Path) -> None:
    (tmp_path / "bus.log").write_text(LOG)
    trace = read_trace(kept(tmp_path, imports.trace(tmp_path / "bus.log", 0.1), "bus.csv"))
    assert trace.duration_ns.tolist() == [1_008_000_000, 1_080_000_000]
    assert trace.bits_per_second.tolist() == [round(248_069 * 8000 / 1008), 0]
    assert trace.latency_ns.tolist() == [100_000_000] * 2


def test_what_is_written_is_read_as_the_same_integers(tmp_path: Path) -> None:
    text = "duration_seconds,megabit_per_second,latency_seconds\n0.000000001,0.000001,0\n4000000,123456.789012,0.3\n"
    (tmp_path / "a.csv").write_text(text)
    once, again = read_trace(tmp_path / "a.csv"), read_trace(kept(tmp_path, imports.trace(tmp_path / "a.csv", 9), "b.csv"))
    for name, array in vars(once).items():
        assert array.tolist() == vars(again)[name].tolist()


@pytest.mark.parametrize(
    "line", ["1 2 3 4 5", "1 2 3 4 -5 6", "1 2 3 4 5 0", "1 2 3 4 5.5 6", "1 2 3 4 5 6 7", "", "a b c d e f"]
)
def test_lines_that_are_none(line: str, tmp_path: Path) -> None:
    (tmp_path / "bus.log").write_text(LOG + line + "\n")
    with pytest.raises(UsageError, match=r"trace .*bus.log, line 3: expected six columns, the fifth bytes >= 0"):
        imports.trace(tmp_path / "bus.log", 0)


def test_a_log_without_throughput(tmp_path: Path) -> None:
    (tmp_path / "bus.log").write_text(LOG.splitlines()[1])
    with pytest.raises(UsageError, match=r"bus.log: the throughput must be > 0"):
        imports.trace(tmp_path / "bus.log", 0)


def test_devices_of_fedscale(tmp_path: Path) -> None:
    """Milliseconds of inference per example, three times which is a step, and kilobit per second.
    Clients count from 1 there."""
    content = {
        2: {"computation": 40.0, "communication": 500.5},
        1: {"computation": 13, "communication": 2000.0},
        3: {"computation": 1.0},
    }
    file = pickled(tmp_path, content)
    assert read_devices(kept(tmp_path, imports.devices(file, 2), "d.csv")) == [(0.039, 2.0), (0.12, 0.5005)]
    assert read_devices(kept(tmp_path, imports.devices(file, 1, 1.0), "d.csv")) == [(0.013, 2.0)]
    with pytest.raises(UsageError, match=r"published, client 3: communication must be a number > 0 .*, got None"):
        imports.devices(file, 3)
    with pytest.raises(UsageError, match=r"published: expected at least 4 clients, got 3"):
        imports.devices(file, 4)


def behaviour(active: list[Any], inactive: list[Any], finish_time: Any = 100) -> dict[str, Any]:
    return {"duration": 90, "inactive": inactive, "finish_time": finish_time, "active": active, "model": "CPH1801"}


def test_clients_that_are_never_there_with_a_short_period(tmp_path: Path) -> None:
    """As many periods as never end, of nothing."""
    for period in (1e-9, 1e-310):
        content = {1: behaviour([], [], period), 2: behaviour([10], [20])}
        assert imports.availability(pickled(tmp_path, content), 1, 155).left_out.startswith("1 clients")
        with pytest.raises(UsageError, match=r"client 1: more than [\d,]+ windows before second 155; give fewer --seconds"):
            imports.availability(pickled(tmp_path, {1: behaviour([0], [period], period)}), 1, 155)


def test_availability_of_fedscale(tmp_path: Path) -> None:
    """Every client has a period of its own. Windows that touch are one, and a client that is never
    there is left out."""
    content = {
        1: behaviour([10, 50], [20, 60]),
        2: behaviour([], []),
        3: behaviour([0, 20], [20, 40], 40),
        4: behaviour([5, 30], [5, 35], 70),
        5: behaviour([1], [2]),
    }
    imported = imports.availability(pickled(tmp_path, content), 3, 155)
    assert imported.left_out == "1 clients that are never there before second 155 were left out"
    assert read_windows(kept(tmp_path, imported, "w.csv")) == [
        [(10, 20), (50, 60), (110, 120), (150, 155)],
        [(0, 155)],
        [(30, 35), (100, 105)],
    ]
    assert imports.availability(pickled(tmp_path, content), 1, 155).left_out == ""


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (behaviour([1, 2], [3]), "client 1: expected as many of active and inactive, got 2 and 1"),
        (behaviour([3, 1], [4, 5]), "client 1: active must be a list of ascending seconds"),
        (behaviour([-1], [5]), "client 1: active must be a list of ascending seconds from 0 to 1e9"),
        (behaviour(["1"], [5]), "client 1: active must be a list"),
        (behaviour([True], [5]), "client 1: active must be a list"),
        (behaviour([1], [float("nan")]), "client 1: inactive must be a list"),
        (behaviour([1], [5], 0), "client 1: finish_time must be a number > 0"),
        (behaviour([1], [5], "9"), "client 1: finish_time must be a number > 0"),
        (behaviour([0.0], [1e-6], 2e-6), "client 1: more than 1,000,000 windows before second 99; give fewer --seconds"),
        ({"finish_time": 9}, "client 1: active must be a list .*, got None"),
        ([1], "expected a dict of clients' numbers and dicts"),
        (behaviour([], []), "expected at least 1 clients that are there before second 99, got 0"),
    ],
)
def test_availability_that_is_none(entry: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        imports.availability(pickled(tmp_path, {1: entry}), 1, 99)


class Evil:
    """Opens a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.mark), "w")


def test_nothing_in_a_pickle_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with pytest.raises(
        UsageError, match=r"published: not a pickle of numbers, .*\(UnpicklingError: it asks for _?io.open, allowed: no classes"
    ):
        imports.devices(pickled(tmp_path, {1: Evil(mark)}), 1)
    assert not mark.exists()


def test_a_truncated_pickle(tmp_path: Path) -> None:
    file = pickled(tmp_path, {1: {"computation": 40.0, "communication": 500.5}})
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(UsageError, match=r"published: not a pickle of numbers, lists, dicts and text"):
        imports.devices(file, 1)
    file.write_bytes(b"")
    with pytest.raises(UsageError, match=r"published: not a pickle"):
        imports.devices(file, 1)
