"""Decoded data sets: made once, shared, checked, and made again where anything is wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fedbench.tasks import decoded, fashion_mnist
from fedbench.tasks.data import Dataset, Examples


def dataset(fill: float = 0.5) -> Dataset:
    """Odd sizes, so that arrays need padding between them."""
    x = np.full((7, 3, 1), fill, np.float32)
    return Dataset("toy", Examples(x, np.arange(7) % 3), Examples(x[:5] + 1, np.arange(5) % 2), 3)


def never() -> Dataset:
    raise AssertionError("made again")


def bits(data: Dataset) -> list[object]:
    arrays = [array for part in (data.train, data.test) for array in (part.x, part.y)]
    return [data.name, data.classes, *((array.dtype, array.shape, array.tobytes()) for array in arrays)]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEDBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source").write_bytes(b"packed")
    return tmp_path / "source"


def entry(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def test_it_is_made_once(cache: Path, source: Path) -> None:
    first = decoded.kept("toy", [source], "sum", dataset)
    again = decoded.kept("toy", [source], "sum", never)
    assert bits(first) == bits(again) == bits(dataset())
    assert type(again.train.x) is np.ndarray
    assert entry(cache).name.startswith("toy-")


def test_owners_are_kept(cache: Path, source: Path) -> None:
    def owned() -> Dataset:
        data = dataset()
        return Dataset("toy", Examples(data.train.x, data.train.y, np.arange(7) % 2), data.test, 3)

    decoded.kept("toy", [source], "sum", owned)
    again = decoded.kept("toy", [source], "sum", never)
    assert again.train.owner is not None
    assert again.train.owner.tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert again.test.owner is None


def test_what_one_writes_nobody_else_sees(cache: Path, source: Path) -> None:
    one, other = (decoded.kept("toy", [source], "sum", dataset) for _ in range(2))
    one.train.x[:] = 9
    assert bits(other) == bits(decoded.kept("toy", [source], "sum", never)) == bits(dataset())


@pytest.mark.parametrize("at", [0, 30, 52, 60, 300, -1])
def test_a_changed_byte_is_noticed(cache: Path, source: Path, at: int) -> None:
    decoded.kept("toy", [source], "sum", dataset)
    content = bytearray(entry(cache).read_bytes())
    content[at] ^= 1
    entry(cache).write_bytes(content)
    assert bits(decoded.kept("toy", [source], "sum", dataset)) == bits(dataset())
    assert bits(decoded.kept("toy", [source], "sum", never)) == bits(dataset())


@pytest.mark.parametrize("left", [0, 1, 19, 40, 60, 200])
def test_a_cut_file_is_noticed(cache: Path, source: Path, left: int) -> None:
    decoded.kept("toy", [source], "sum", dataset)
    entry(cache).write_bytes(entry(cache).read_bytes()[:left])
    assert bits(decoded.kept("toy", [source], "sum", dataset)) == bits(dataset())
    assert bits(decoded.kept("toy", [source], "sum", never)) == bits(dataset())


def test_other_files_expectations_or_code_are_another_entry(
    cache: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded.kept("toy", [source], "sum", dataset)
    made = [decoded.kept("toy", [source], "other sum", lambda: dataset(2.0))]
    source.write_bytes(b"packed otherwise")
    made.append(decoded.kept("toy", [source], "sum", lambda: dataset(2.0)))
    os.utime(source, ns=(1, 1))
    made.append(decoded.kept("toy", [source], "sum", lambda: dataset(2.0)))
    (tmp_path / "elsewhere").write_bytes(source.read_bytes())
    os.utime(tmp_path / "elsewhere", ns=(1, 1))
    made.append(decoded.kept("toy", [tmp_path / "elsewhere"], "sum", lambda: dataset(2.0)))
    monkeypatch.setattr(decoded, "_code", lambda: "other")
    made.append(decoded.kept("toy", [source], "sum", lambda: dataset(2.0)))
    assert [bits(one) for one in made] == 5 * [bits(dataset(2.0))]


def test_few_entries_stay(cache: Path, source: Path) -> None:
    decoded.kept("another", [source], "sum", dataset)
    for number in range(decoded.KEPT + 3):
        decoded.kept("toy", [source], number, dataset)
        for file in cache.glob("toy-*"):  # each is older than the next
            os.utime(file, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns - 10**9))
    assert len(list(cache.glob("toy-*"))) == decoded.KEPT
    assert len(list(cache.glob("another-*"))) == 1
    for number in range(3, decoded.KEPT + 3):
        decoded.kept("toy", [source], number, never)


def test_nothing_is_kept_if_it_is_off_or_cannot_be(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    for place in ("off", str(tmp_path / "file")):
        monkeypatch.setenv("FEDBENCH_CACHE", place)
        for fill in (0.0, 1.0):
            assert bits(decoded.kept("toy", [source], "sum", lambda fill=fill: dataset(fill))) == bits(dataset(fill))
    assert not Path("off").exists()


def test_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEDBENCH_CACHE")
    assert decoded.folder() == Path.home() / ".cache" / "fedbench" / "decoded"

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    assert decoded.folder() is None


WRITER = """
import sys, time
from pathlib import Path
import numpy as np
from fedbench.tasks import decoded
from fedbench.tasks.data import Dataset, Examples

x = np.arange(4_000_000, dtype=np.float32).reshape(-1, 4)
data = Dataset("large", Examples(x, np.zeros(len(x), np.int64)), Examples(x, np.ones(len(x), np.int64)), 2)
while not Path(sys.argv[2]).exists():
    time.sleep(0.001)
while True:
    found = decoded.kept("large", [Path(sys.argv[1])], "sum", lambda: data)
    assert (found.train.x == x).all() and found.test.y.all()
    print("right", flush=True)
    if len(sys.argv) < 4:
        break
    for file in decoded.folder().glob("*.bin"):
        file.unlink()
"""


def writers(source: Path, go: Path, count: int, *more: str) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen([sys.executable, "-c", WRITER, source, go, *more], stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]


def test_processes_at_a_time(cache: Path, source: Path, tmp_path: Path) -> None:
    running = writers(source, tmp_path / "go", 3)
    time.sleep(0.5)
    (tmp_path / "go").touch()
    assert [process.communicate()[0] for process in running] == 3 * ["right\n"]
    assert [file.suffix for file in cache.iterdir()] == [".bin"]


def test_killed_at_any_moment(cache: Path, source: Path, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    for wait in (0.003, 0.011, 0.027, 0.041):
        (process,) = writers(source, tmp_path / "go", 1, "for ever")
        assert process.stdout is not None
        assert process.stdout.readline() == "right\n"
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    (process,) = writers(source, tmp_path / "go", 1)
    assert process.communicate()[0] == "right\n"
    left = list(cache.glob(".*.partial"))
    for file in left:
        os.utime(file, (0, 0))
    decoded.kept("toy", [source], "sum", dataset)
    assert not list(cache.glob(".*.partial"))


def test_real_data_are_what_is_decoded(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fashion_mnist.DEBIAN.is_dir():
        pytest.skip("no Fashion-MNIST")
    monkeypatch.setenv("FEDBENCH_CACHE", "off")
    want = fashion_mnist.dataset()
    monkeypatch.setenv("FEDBENCH_CACHE", str(cache))
    for _ in range(2):
        found = fashion_mnist.dataset()
        for part in ("train", "test"):
            assert np.array_equal(getattr(found, part).x, getattr(want, part).x)
            assert np.array_equal(getattr(found, part).y, getattr(want, part).y)
