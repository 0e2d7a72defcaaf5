"""Traces, windows and devices: the files of measurements that a scenario names, and the published
ones that are imported."""

from __future__ import annotations

import io
import json
import pickle
import struct
from collections.abc import Callable
from typing import Any

from tests.hostile.case import Case, Folder, Hole, Link, Made, Pipe


def _trace(name: str, file: str, made: Made, words: str) -> Case:
    arguments = ("plan", "digits-demo", "-a", "fedavg", "--set", "network={trace: {folder: t}}")
    return Case(f"trace: {name}", arguments, words, {f"t/{file}": made})


def _windows(name: str, file: str, made: Made, words: str) -> Case:
    arguments = ("plan", "digits-demo", "-a", "fedavg", "--set", f"availability={{kind: table, file: {file}}}")
    return Case(f"windows: {name}", arguments, words, {file: made})


def _devices(name: str, made: Made, words: str) -> Case:
    arguments = ("plan", "digits-demo", "-a", "fedavg", "--set", "compute={kind: devices, file: d.csv}")
    return Case(f"devices: {name}", arguments, words, {"d.csv": made})


def _logs(name: str, file: str, made: Made, words: str) -> Case:
    return Case(f"import traces: {name}", ("import", "traces", "logs"), words, {f"logs/{file}": made})


def _pickled(name: str, made: Made, words: str) -> Case:
    return Case(f"import devices: {name}", ("import", "devices", "p", "--clients", "2"), words, {"p": made})


def _absent(name: str, made: Made, words: str) -> Case:
    arguments = ("import", "availability", "p", "--clients", "2", "--seconds", "100")
    return Case(f"import availability: {name}", arguments, words, {"p": made})


HEADER = "duration_seconds,megabit_per_second,latency_seconds\n"
PART = {"duration_ms": 1, "bandwidth_kbps": 1, "latency_ms": 1}


def _parts(**changes: Any) -> str:
    return json.dumps([{**PART, **changes}])


def _put(index: int) -> bytes:
    """A pickle of an empty list that is remembered under a large index."""
    return b"\x80\x02]r" + struct.pack("<I", index) + b"."


class Shell:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        import os

        return os.system, ("touch hacked",)


def _persistent() -> bytes:
    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            return "a\nb\x1b[2J" * 1000 if obj == "x" else None

    content = io.BytesIO()
    Pickler(content, protocol=4).dump(["x"])
    return content.getvalue()


def _deep(levels: int) -> bytes:
    return b"\x80\x02" + b"]" * levels + b"a" * (levels - 1) + b"."


def _twice(times: int) -> list[Any]:
    """A list that holds another one twice, which holds another one twice, and so on."""
    found: list[Any] = [1]
    for _ in range(times):
        found = [found, found]
    return found


FEDSCALE = ("computation", "communication", "finish_time", "active", "inactive")
ASKS = {
    "the shell": pickle.dumps(Shell()),
    "a class of ours": b"cfedbench.scenarios.schema\nScenario\n.",
    "a name of many lines": b"\x80\x04\x8c\x02os\x8c\x30" + b"a\nb\x1b[2J" * 6 + b"\x93.",
    "eval by an extension": b"\x80\x02\x82\x01.",
}
BROKEN = {
    "a pipe": Pipe(),
    "a device without an end": Link("/dev/zero"),
    "a folder": Folder(),
    "a hole of a terabyte": Hole(1 << 40),
    "empty": b"",
    "text": b"hello",
    "put at 100,000,000": _put(100_000_000),
    "put at the largest index": _put(2**32 - 1),
    "text put at 100,000,000": b"]p100000000\n.",
    "text put at many digits": b"]p" + b"9" * 10_000 + b"\n.",
    "put at ever larger indices": b"\x80\x02]" + b"".join(b"r" + struct.pack("<I", 1 << i) for i in range(32)) + b".",
    "a persistent name": _persistent(),
    "a persistent name of many lines": b"Pa\x1b[2J\n.",
    "a frame of 2^62 bytes": b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"].",
    "text of 2^62 bytes": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"x.",
    "bytes of 2 GB": b"\x80\x03B" + struct.pack("<I", (1 << 31) - 1) + b"x.",
    "an array of 2^40 bytes": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"x.",
    "a number of 100,000 digits": b"L" + b"9" * 100_000 + b"L\n.",
    "a number of 2 MB": b"\x80\x02\x8b" + struct.pack("<i", 1 << 21) + b"\x7f" * (1 << 21) + b".",
    "100,000 levels": _deep(100_000),
    "lists that double 40 times": pickle.dumps(_twice(40)),
    "30 MB of empty lists": lambda: b"]" * 30_000_000 + b".",
    "30 MB of nothing": lambda: b"\x80\x02" * 15_000_000 + b".",
    "a buffer out of the file": b"\x80\x05\x97.",
    "an object that is built": b"\x80\x02}}b.",
}

CASES = [
    _trace("a pipe", "a.csv", Pipe(), "no plain file"),
    _trace("a device without an end", "a.json", Link("/dev/zero"), "no plain file"),
    _trace("a hole of a terabyte", "a.csv", Hole(1 << 40), "expected at most"),
    _trace("a hole of 8 MB", "a.json", Hole(8 << 20), "not valid JSON"),
    _trace("30 MB of parts", "a.json", lambda: "[" + ",".join([json.dumps(PART)] * 480_000) + "]", "expected at most"),
    _trace("30 MB of empty lists", "a.json", lambda: "[" + ",".join(["[]"] * 10_000_000) + "]", "expected at most"),
    _trace(
        "8 MB of empty lists",
        "a.json",
        lambda: "[" + ",".join(["[]"] * 2_700_000) + "]",
        "expected at most 2,000,000 lists and objects",
    ),
    _trace("fewer empty lists", "a.json", lambda: "[" + ",".join(["[]"] * 1_900_000) + "]", "part 0: expected"),
    _trace("8 MB of levels", "a.json", lambda: "[" * 8_000_000, "expected at most 2,000,000 lists and objects"),
    _trace("100,000 levels", "a.json", lambda: "[" * 100_000, "levels"),
    _trace("8 MB of digits", "a.json", lambda: "[" + "9" * 8_000_000 + "]", "digits"),
    _trace("8 MB of numbers", "a.json", lambda: "[" + "1.5," * 2_000_000 + "1]", "part 0: expected"),
    _trace("8 MB of text", "a.json", lambda: '["' + "\\u00e9" * 1_300_000 + '"]', "part 0: expected"),
    _trace(
        "more parts than are read",
        "a.csv",
        lambda: HEADER + "1,1,1\n" * 200_001,
        "expected at most 200,000 lines below the header",
    ),
    _trace(
        "30 MB of repeated keys",
        "a.json",
        lambda: "[{" + ",".join(['"a":1'] * 4_000_000) + "}]",
        "is given twice|expected at most",
    ),
    _trace("30 MB of different keys", "a.json", lambda: "[{" + ",".join(f'"{i}":1' for i in range(2_000_000)) + "}]", "expected"),
    _trace("2,000,000 lines", "a.csv", lambda: HEADER + "1,1,1\n" * 2_000_000, "expected at most"),
    _trace("a line of 8 MB", "a.csv", lambda: HEADER + "1," * 4_000_000 + "\n", "expected"),
    _trace("one field of 8 MB", "a.csv", lambda: HEADER + "1" * 8_000_000 + ",1,1\n", "field larger than"),
    _trace("a duration of 1e308", "a.json", _parts(duration_ms=1e308), "duration_ms must be a number > 0"),
    _trace("a rate of 1e308", "a.json", _parts(bandwidth_kbps=1e308), "bandwidth_kbps must be a number"),
    _trace("a latency of -1e308", "a.json", _parts(latency_ms=-1e308), "latency_ms must be a number"),
    _trace(
        "a duration of 10^59",
        "a.json",
        '[{"duration_ms": 1' + "0" * 59 + ', "bandwidth_kbps": 1, "latency_ms": 1}]',
        "duration_ms must be",
    ),
    _trace("a duration of 1e308 in a line", "a.csv", HEADER + "1e308,1,1\n", "duration_seconds must be a number > 0"),
    _trace(
        "durations of 1e9 a million times", "a.csv", lambda: HEADER + "1e9,1,1\n" * 50_000, "expected at most 1e9 seconds in all"
    ),
    _trace("not a number", "a.csv", HEADER + "nan,1,1\n", "duration_seconds must be"),
    _trace("a key of many lines", "a.json", json.dumps([{"a\nb\x1b[2J" * 500: 1}]), "part 0: expected"),
    _trace("a name of a file with line breaks", "a\nb.csv", HEADER + "x,1,1\n", r"a\\nb.csv"),
    _trace("a name of a file that is not UTF-8", "a\udcff.csv", HEADER + "x,1,1\n", r"a\\udcff.csv"),
    _trace("a byte order mark", "a.csv", b"\xff\xfe", "expected text in UTF-8"),
    Case(
        "trace: 20,000 files",
        ("plan", "digits-demo", "-a", "fedavg", "--set", "network={trace: {folder: t}}"),
        "expected 1 to 10,000 .csv or .json files",
        {f"t/{i}.csv": "" for i in range(10_001)},
    ),
    _windows("1e308", "w.csv", "client,on,off\n0,0,1e308\n", "1e"),
    _windows("the client 1e308", "w.csv", "client,on,off\n1e308,0,1\n", "expected a client"),
    _windows("30 MB of lists", "w.json", lambda: "[" + ",".join(["[0,0,1]"] * 3_500_000) + "]", "expected at most"),
    _windows("30 MB of empty lists", "w.json", lambda: "[" + ",".join(["[]"] * 10_000_000) + "]", "expected"),
    _windows("30 MB of levels", "w.json", lambda: "[" * 30_000_000, "expected at most 2,000,000 lists"),
    _windows("3,000,000 lines", "w.csv", lambda: "client,on,off\n" + "0,0,1\n" * 3_000_000, "expected at most"),
    _windows("windows of many lines", "w.json", json.dumps([["a\nb" * 100, 0, 1]]), "expected client, on and off as numbers"),
    _windows("a hole of 30 MB", "w.csv", Hole(30 << 20), "field larger than"),
    _devices("1e308", "client,seconds_per_example,megabit_per_second\n0,1e308,1\n", "seconds"),
    _devices(
        "5,000,000 lines",
        lambda: "client,seconds_per_example,megabit_per_second\n" + "0,1,1\n" * 5_000_000,
        "expected at most 1,000,000 lines",
    ),
    _devices(
        "1,000,000 devices that are one",
        lambda: "client,seconds_per_example,megabit_per_second\n" + "0,1,1\n" * 900_000,
        "expected client 1, clients being numbered",
    ),
    _devices("a hole of 60 MB", Hole(60 << 20), "field larger than"),
    _logs("a pipe", "a.log", Pipe(), "no plain file"),
    _logs("huge numbers", "a.log", "0 0 0 0 " + "9" * 4000 + " 1\n", "expected six columns"),
    _logs("a rate over the largest", "a.log", "0 0 0 0 " + "9" * 40 + " 1\n", "line 1"),
    _logs("a duration over the largest", "a.log", "0 0 0 0 1 " + "9" * 40 + "\n", "line 1"),
    _logs("a line of 8 MB", "a.log", lambda: "0 " * 4_000_000 + "\n", "expected six columns"),
    _logs("30 MB of lines", "a.log", lambda: "0 0 0 0 1 1\n" * 2_600_000, "expected at most"),
    _logs("8 MB of line breaks", "a.log", lambda: "\n" * 8_000_000, "expected at most 200,000 parts"),
    _logs("1e308", "a.json", _parts(duration_ms=1e308), "duration_ms must be"),
    _logs("30 MB of parts", "a.json", lambda: "[" + ",".join([json.dumps(PART)] * 480_000) + "]", "expected at most"),
    *(_pickled(name, made, "^error: p: |file of FedScale p") for name, made in BROKEN.items()),
    *(_pickled(f"it asks for {name}", made, "^error: p: ") for name, made in ASKS.items()),
    _pickled("clients that are text", pickle.dumps({"a\nb" * 1000: {}}), "expected a dict"),
    _pickled("clients of huge numbers", pickle.dumps({10**4000: {}, -(10**4000): {}}), "^error: p"),
    _pickled(
        "times of lists that double", pickle.dumps({key: {"computation": _twice(40)} for key in (1, 2)}), "computation must be"
    ),
    _pickled(
        "times that are texts of many lines",
        pickle.dumps({key: {"computation": "a\nb" * 10**6} for key in (1, 2)}),
        "computation must be",
    ),
    _absent("a pipe", Pipe(), "no plain file"),
    _absent("lists that double", pickle.dumps({1: {"finish_time": 1, "active": _twice(40)}}), "active must be"),
    _absent(
        "instants that are huge", pickle.dumps({1: {"finish_time": 1, "active": [10**4000], "inactive": [1]}}), "active must be"
    ),
    _absent(
        "a period that is tiny",
        pickle.dumps({1: {"finish_time": 1e-300, "active": [0], "inactive": [1e-301]}}),
        "more than 1,000,000 windows",
    ),
    _absent(
        "a million instants of a thousand periods",
        pickle.dumps({1: {"finish_time": 0.1, "active": [0] * 10**6, "inactive": [0] * 10**6}}),
        "more than 1,000,000 windows",
    ),
    _absent(
        "many clients who are never there",
        pickle.dumps({i: {"finish_time": 1, "active": [], "inactive": []} for i in range(10**5)}),
        "expected at least 2 clients that are there",
    ),
]
