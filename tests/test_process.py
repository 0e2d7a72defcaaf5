"""What other processes import, and peak memory; that a parent's does not count is in
tests/bench/test_host.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fedbench.launch.executors import Begun, Done, Event, Pool
from fedbench.process import peak_memory_mb, safe_path
from fedbench.submissions import bounded_reading
from fedbench.submissions.faults import FaultsError
from fedbench.tasks.own import bounded
from fedbench.tasks.own.choice import Wanted


def test_peak_memory_in_mb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _, encoding: "VmPeak:\t  900000 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n")
    assert peak_memory_mb() == 2.0


def test_where_nobody_tells_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _, encoding: "Name:\tpython\n")
    assert peak_memory_mb() is None

    def nothing_there(_: Path, encoding: str) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", nothing_there)
    assert peak_memory_mb() is None


STANDARD = ("csv", "json", "pickle", "queue", "socket", "subprocess", "threading", "pyarrow")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with files that are named like modules; whoever imports one writes
    `executed`."""
    for name in STANDARD:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w').write(__name__)\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def double(task: int, tell: object) -> int:
    return 2 * task


def read_own_data(folder: Path) -> None:
    (folder / "mine.csv").write_text("x,y\n1,0\n2,1\n")
    assert bounded.read(Path("mine.csv"), "train", Wanted("y")).x.tolist() == [[1], [2]]


def read_a_submission(folder: Path) -> None:
    with pytest.raises(FaultsError):  # of which there is none
        bounded_reading.read(folder)


def work_in_another_process(folder: Path) -> None:
    events: list[Event] = []
    Pool(1).run(double, [4], events.append)
    assert events == [Begun(0), Done(0, 8)]


@pytest.mark.parametrize("act", [read_own_data, read_a_submission, work_in_another_process])
def test_no_process_imports_from_the_working_directory(act: Callable[[Path], None], hostile: Path) -> None:
    act(hostile)
    assert not (hostile / "executed").exists()


def test_the_environment_is_as_before() -> None:
    with safe_path():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert not os.environ["PYTHONSAFEPATH"]
