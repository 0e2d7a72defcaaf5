"""Another process reads as this one does, and hostile files end in one line, soon and in little
memory."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.tasks.own import bounded
from fedbench.tasks.own.choice import Wanted

from . import reading_here
from .hostile import WRITERS

SCRIPT = """
import json, resource, sys
from fedbench.errors import FedbenchError
from fedbench.process import peak_memory_mb
from fedbench.tasks import arrays
try:
    arrays.dataset(arrays.Source(name="file:bad", file=sys.argv[1], label=sys.argv[2]))
    said = "read"
except FedbenchError as error:
    said = f"{type(error).__name__}: {error}"
ours, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
seconds = ours.ru_utime + ours.ru_stime + theirs.ru_utime + theirs.ru_stime
print(json.dumps([said, seconds, max(peak_memory_mb() or 0, theirs.ru_maxrss / 1024)]))
"""
FAST = ("parquet_of_one_long_text", "arrow_of_nothing", "state_is_a_pipe", "parquet_of_large_images")


def save(folder: Path) -> Path:
    np.savez(folder / "mine.npz", x=np.arange(60.0).reshape(20, 3), y=np.array(["a", "b"] * 10), who=np.arange(20) // 2)
    return folder / "mine.npz"


def test_the_same_as_in_this_process(tmp_path: Path) -> None:
    wanted = Wanted("y", "who")
    one, other = (read(save(tmp_path), "train", wanted) for read in (bounded.read, reading_here.read))
    assert (one.features, one.labels.values) == (other.features, other.labels.values) == (("x",), ["a", "b"])
    assert one.owners is not None
    assert other.owners is not None
    assert one.owners.values == other.owners.values == list(range(10))
    for a, b in ((one.x, other.x), (one.labels.codes, other.labels.codes), (one.owners.codes, other.owners.codes)):
        assert np.array_equal(a, b)
    one.x[0] = 7  # may be written


def test_errors_come_back(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"mine.npz: has no column 'z'; did you mean 'y'\?|has no column 'z'"):
        bounded.read(save(tmp_path), "train", Wanted("z"))


@pytest.mark.parametrize("end", ["raise MemoryError", "os.kill(os.getpid(), 9)", "while True: pass", "np.ones(1 << 27)"])
def test_whatever_ends_the_other_process_is_one_line(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process imports a module of the test in the place of the one that reads .npz."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, types, os\nmodule = types.ModuleType('fedbench.tasks.own.npz')\n"
        f"def Npz(path, part, limits):\n    import numpy as np\n    {end}\n"
        "module.Npz = Npz\nsys.modules['fedbench.tasks.own.npz'] = module\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(bounded.Limits, "cpu_seconds", 1)
    with pytest.raises(UsageError, match=r"mine.npz: cannot be read within 256 MiB .* and 1 s of CPU time"):
        bounded.read(save(tmp_path), "train", Wanted("y"))


def test_what_was_taken_before_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an import of a second and more."""
    late = (
        "import os, sys, time\nwhile time.process_time() < 1.5: pass\nos.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    monkeypatch.setattr(bounded, "PYTHON", (sys.executable, "-c", late, *bounded.PYTHON[1:]))
    monkeypatch.setattr(bounded.Limits, "cpu_seconds", 1)
    assert bounded.read(save(tmp_path), "train", Wanted("y")).features == ("x", "who")


@pytest.mark.parametrize("error", [KeyError("y"), RecursionError("deep"), OSError(5, "a\nb")])
def test_an_error_that_no_reader_expects_is_told_as_what_it_is(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setitem(bounded.ACTS, "parts", fail)
    monkeypatch.setattr(bounded, "bound", lambda memory, seconds: None)
    request = {"act": "parts", "path": "mine.npz", "memory": 0, "seconds": 0, "arguments": {}}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(request)))
    with open(os.devnull, "wb") as out:
        bounded.main(out.fileno())
    said = json.loads(capsys.readouterr().out)["message"]
    assert said.startswith(f"task file mine.npz: cannot be read: {type(error).__name__}: ")
    assert "test_bounded.py, line" in said
    assert said.isprintable()


def python(*arguments: str) -> str:
    return subprocess.run([sys.executable, "-c", *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.mark.parametrize("name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in WRITERS])
def test_hostile_data_sets(name: str, tmp_path: Path) -> None:
    """The process of the test writes the files, and a fresh one, whose memory is counted, reads."""
    writer = f"import json, sys; from pathlib import Path; sys.path.insert(0, {str(Path(__file__).parent)!r}); import hostile; "
    writer += f"print(json.dumps(str(hostile.WRITERS[{name!r}](Path({str(tmp_path)!r})))))"
    path = json.loads(python(writer))
    said, seconds, megabytes = json.loads(python(SCRIPT, path, "label" if name.startswith(("tar", "zip", "images")) else "y"))
    assert said.startswith(("UsageError: task", "MissingDataError: task"))
    assert said.isprintable()
    assert len(said) < 1500
    assert seconds < 10
    assert megabytes < 600
