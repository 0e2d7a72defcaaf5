"""Folders of traces: what they hold, their sum, and what is no trace."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench.errors import MissingDataError, UsageError
from fedbench.places import data_root
from fedbench.scenarios.load import load
from fedbench.scenarios.trace_files import missing, read_trace, traces_of

HEADER = "duration_seconds,megabit_per_second,latency_seconds\n"
LOG = [
    {"duration_ms": 1013, "bandwidth_kbps": 1285, "latency_ms": 100},
    {"duration_ms": 1008, "bandwidth_kbps": 0, "latency_ms": 100},
]
"""As the public logs have it."""
SAME = HEADER + "1.013,1.285,0.1\n1.008,0,0.1\n"


def folder(place: Path, **files: str) -> Path:
    """A folder with these files; `__` in a name stands for the dot."""
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / name.replace("__", ".")).write_text(text)
    return place


def sum_by_shell(place: Path) -> str:
    """What docs/network-traces.md states of a folder of JSON files."""
    listed = subprocess.run("LC_ALL=C sha256sum *.json", shell=True, cwd=place, capture_output=True, check=True).stdout
    return hashlib.sha256(listed).hexdigest()


def test_both_formats_are_the_same_trace_in_integers(tmp_path: Path) -> None:
    place = folder(tmp_path / "t", a__json=json.dumps(LOG), b__csv=SAME)
    for name in ("a.json", "b.csv"):
        trace = read_trace(place / name)
        assert trace.duration_ns.tolist() == [1_013_000_000, 1_008_000_000]
        assert trace.bits_per_second.tolist() == [1_285_000, 0]
        assert trace.latency_ns.tolist() == [100_000_000, 100_000_000]
        assert {array.dtype for array in vars(trace).values()} == {np.dtype(np.int64)}


def scenario(place: Path, trace: str, name: str = "s.yaml") -> Path:
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_text(DEMO + f"network: {{trace: {trace}}}\n")
    return place / name


DEMO = (Path(__file__).parents[2] / "fedbench/scenarios/library/digits-demo.yaml").read_text()
DEMO = "\n".join(line for line in DEMO.splitlines() if not line.startswith(("network", "name"))) + "\nname: traced\n"


def test_reading_a_scenario_adds_the_sum_of_its_folder(tmp_path: Path) -> None:
    """That of the names and contents of its traces: other files do not count."""
    place = folder(tmp_path / "t", b__json=json.dumps(LOG), a__json=json.dumps(LOG[:1]), README__md="of traces")
    read = load(scenario(tmp_path, "{folder: t}"))
    assert read.network.trace is not None
    assert read.network.trace.sha256 == sum_by_shell(place)
    assert read.network.trace.folder == str(tmp_path / "t")
    traces = traces_of(str(place), sum_by_shell(place))
    assert [len(trace.duration_ns) for trace in traces] == [1, 2]
    assert load(read) == read


def test_where_a_folder_lies_is_not_in_the_hash_and_what_is_in_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path / "one" / "t", a__json=json.dumps(LOG))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path / "two"))
    here = load(scenario(tmp_path / "one", "{folder: t}"))
    there = load(scenario(tmp_path / "three", "{folder: t}"))
    assert there.network.trace is not None
    assert there.network.trace.folder == "t"
    assert here.content_hash() == there.content_hash() != load("digits-demo").content_hash()
    both = load(scenario(tmp_path / "one", "{folder: t, upload: {folder: t}}", "both.yaml"))
    assert both.network.trace is not None
    assert both.network.trace.upload is not None
    assert both.network.trace.upload.sha256 == both.network.trace.sha256
    (tmp_path / "two" / "t" / "a.json").write_text(json.dumps(LOG[:1]))
    assert len({s.content_hash() for s in (here, both, load(scenario(tmp_path / "three", "{folder: t}")))}) == 3


def test_a_folder_that_is_changed_is_refused(tmp_path: Path) -> None:
    place = folder(tmp_path / "t", a__json=json.dumps(LOG))
    before = sum_by_shell(place)
    for change in (lambda: (place / "a.json").write_text(json.dumps(LOG[:1])), lambda: (place / "b.csv").write_text(SAME)):
        change()
        with pytest.raises(UsageError, match=rf"network.trace.folder {place}: the sum of its . files must be {before}, got"):
            traces_of(str(place), before)


def test_a_folder_that_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path / "data"))
    with pytest.raises(MissingDataError, match=r"folder nowhere: not on this machine; looked for .*data/nowhere. Put it there"):
        load(scenario(tmp_path, "{folder: nowhere}"))
    assert "FEDBENCH_DATA" in missing("nowhere")
    stated = load(scenario(tmp_path, f"{{folder: nowhere, sha256: {'0' * 64}}}"))
    assert stated.network.trace is not None  # which can be read, listed and described


BAD: list[tuple[str, str, str]] = [
    ("a.json", json.dumps([part | {"bandwidth_kbps": 0} for part in LOG]), "a.json: the throughput must be > 0 .* in all of its 2"),
    ("a.csv", HEADER + "1,0,0\n", "a.csv: the throughput must be > 0"),
    ("a.json", json.dumps([LOG[0], LOG[1] | {"duration_ms": -5}]), "a.json, part 1: duration_ms must be a number > 0 .*, got -5"),
    ("a.csv", HEADER + "1,1,0\n-1.5,1,0\n", "a.csv, line 3: duration_seconds must be a number > 0 .*, got -1.5"),
    ("a.json", json.dumps([LOG[0] | {"duration_ms": 0}]), "duration_ms must be a number > 0"),
    ("a.json", json.dumps([LOG[0] | {"bandwidth_kbps": -1}]), "bandwidth_kbps must be a number from 0 to .*, got -1"),
    ("a.json", json.dumps([LOG[0] | {"latency_ms": -1}]), "latency_ms must be a number from 0 to 1e9 seconds, got -1"),
    ("a.json", json.dumps([LOG[0] | {"latency_ms": True}]), "latency_ms must be a number .* got True"),
    ("a.json", json.dumps([LOG[0] | {"latency_ms": "9"}]), "latency_ms must be a number .* got '9'"),
    ("a.csv", HEADER + "1,x,0\n", "line 2: megabit_per_second must be a number .* got 'x'"),
    ("a.csv", HEADER + "1,inf,0\n", "line 2: megabit_per_second must be a number .* got inf"),
    ("a.csv", HEADER + "1,nan,0\n", "line 2: megabit_per_second must be a number .* got nan"),
    ("a.csv", HEADER + "2e9,1,0\n", "line 2: duration_seconds must be a number > 0 and at most 1e9 seconds, got 2000000000.0"),
    ("a.csv", HEADER + "9e8,1,0\n9e8,1,0\n", "a.csv: expected at most 1e9 seconds in all"),
    ("a.json", json.dumps(LOG)[:-9], "a.json: not valid JSON"),
    ("a.csv", SAME[:-1], "a.csv: its last line has no end, so the file is truncated"),
    ("a.csv", SAME[:-8] + "\n", "a.csv, line 3: expected 3 numbers, got"),
    ("a.json", "[]", "a.json: expected at least one part, got none"),
    ("a.csv", HEADER, "a.csv: expected at least one part, got none"),
    ("a.csv", "", "a.csv: expected the header"),
    ("a.csv", "on,off\n", "a.csv: expected the header duration_seconds,megabit_per_second,latency_seconds, got 'on,off'"),
    ("a.json", json.dumps({"duration_ms": 1}), "a.json: expected a list of {duration_ms, bandwidth_kbps, latency_ms}, got dict"),
    ("a.json", json.dumps([LOG[0], {"duration_ms": 1}]), "a.json, part 1: expected {duration_ms, bandwidth_kbps, latency_ms}"),
    ("a.json", json.dumps([[1, 2, 3]]), "a.json, part 0: expected {"),
    ("a.json", "[" * 100_000, "a.json: expected at most 40 levels"),
    ("a.json", '[{"duration_ms": NaN}]', "a.json: expected finite numbers, got NaN"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "message"), BAD)
def test_what_is_no_trace_is_one_error_that_names_the_file(name: str, text: str, message: str, tmp_path: Path) -> None:
    place = folder(tmp_path / "t", good__json=json.dumps(LOG))
    (place / name).write_text(text)
    read = load(scenario(tmp_path, "{folder: t}"))
    assert read.network.trace is not None
    with pytest.raises(UsageError, match=message) as error:
        traces_of(str(place), str(read.network.trace.sha256))
    assert str(error.value).startswith(f"trace {place / name}")


def test_an_empty_folder_and_odd_files(tmp_path: Path) -> None:
    empty = folder(tmp_path / "t", notes__txt="", _hidden="")
    with pytest.raises(UsageError, match=r"folder .*t: expected 1 to 10,000 .csv or .json files, got none"):
        load(scenario(tmp_path, "{folder: t}"))
    os.mkfifo(empty / "a.json")
    with pytest.raises(UsageError, match=r"trace .*a.json: cannot be read: it is no plain file"):
        load(scenario(tmp_path, "{folder: t}"))
    (empty / "a.json").unlink()
    (empty / "a.json").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"trace .*a.json: expected text in UTF-8"):
        read_trace(empty / "a.json")


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ("{}", "network.trace: exactly one of folder and given is needed, got neither"),
        ("{folder: t, given: [[[1, 1, 0]]]}", "exactly one of folder and given is needed, got both"),
        (f"{{given: [[[1, 1, 0]]], sha256: {'0' * 64}}}", "sha256 is the sum of a folder's files"),
        ("{folder: t, sha256: 12}", "network.trace.sha256 must be"),
        ("{folder: 7}", "network.trace.folder must be text"),
        ("{given: [[[1, 1]]]}", "network.trace.given.0.0.2"),
        ("{given: [[[-1, 1, 0]]]}", "network.trace.given.0.0.0 must be > 0, got -1"),
        ("{given: [[[1, -1, 0]]]}", "network.trace.given.0.0.1 must be >= 0, got -1"),
        ("{given: []}", "network.trace.given"),
        ("{given: [[]]}", "network.trace.given.0"),
        ("{given: [[[1, 1, 0]], [[1, 1, 0]]]}", "network.trace.given: expected one trace, or one for each of .* clients, got 2"),
        ("{given: [[[1, 1, 0]]], upload: {given: [[[1, 1, 0]], [[1, 1, 0]]]}}", "network.trace.upload.given: expected one trace"),
        ("{given: [[[1, 1, 0]]], offset: 3}", "unknown key network.trace.offset; did you mean 'offset_seconds'"),
        ("{given: [[[1, 1, 0]]], upload: 3}", "network.trace.upload must be"),
        ("{given: [[[1, 1, 0]]]}, download_megabit_per_second: 8", "trace goes without download_megabit_per_second.* got 8"),
        ("{given: [[[1, 1, 0]]]}, upload_megabit_per_second: 8", "trace goes without upload_megabit_per_second"),
        ("{given: [[[1, 1, 0]]]}, latency_seconds: 0.5", "trace goes without latency_seconds, which the traces say, got 0.5"),
        ("3", "network.trace must be"),
    ],
)
def test_parts_that_are_refused(trace: str, message: str, tmp_path: Path) -> None:
    folder(tmp_path / "t", a__json=json.dumps(LOG))
    with pytest.raises(UsageError, match=message):
        load(scenario(tmp_path, trace))


@pytest.mark.parametrize(("name", "count"), [("cellular-3g", 86), ("cellular-4g", 40)])
def test_the_public_logs(name: str, count: int) -> None:
    trace = load(name).network.trace
    assert trace is not None
    assert trace.folder is not None
    if not (data_root() / trace.folder).is_dir():
        pytest.skip(f"no {data_root() / trace.folder}; FEDBENCH_DATA lacks it")
    traces: Any = traces_of(trace.folder, str(trace.sha256))
    assert len(traces) == count
    assert sum_by_shell(data_root() / trace.folder) == trace.sha256
