"""Hostile submission.yaml: the file itself, and its keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedbench.submissions.manifest import MANIFEST
from tests.submissions.kinds import KINDS, Kind, Make
from tests.submissions.tampering import said


def text(change: Callable[[str], str]) -> Make:
    """Of the manifest."""
    return lambda folder: (folder / MANIFEST).write_bytes(
        change((folder / MANIFEST).read_text()).encode("utf-8", "surrogatepass")
    )


def saying(path: str, value: Any) -> Make:
    return lambda folder: said(folder, path, value)


MANIFESTS = {
    "yaml aliases that multiply": (text(lambda t: "a: &a [x]\nb: [*a, *a]\n" + t), "anchors and aliases are not read"),
    "a yaml tag that makes an object": (text(lambda t: 'x: !!python/object/apply:os.system ["true"]\n' + t), "tags are not read"),
    "a key twice": (text(lambda t: t + "name: other\n"), "key 'name' is given twice"),
    "deep yaml": (text(lambda t: "x: " + "[" * 5000 + "]" * 5000 + "\n" + t), "at most 30 levels"),
    "yaml that is a list": (text(lambda _: "[1, 2]\n"), "expected a mapping of keys, got list"),
    "yaml that is cut off": (text(lambda t: t + 'x: "'), "not valid YAML"),
    "an empty manifest": (text(lambda _: ""), "expected a mapping of keys, got NoneType"),
    "a manifest that is too large": (text(lambda t: t + "#" * 70_000), "expected at most 65,536 bytes"),
    "a byte order mark": (text(lambda t: "\ufeff" + t), r"line 1: expected printable characters, got U\+FEFF"),
    "lines of another system": (text(lambda t: t.replace("\n", "\r\n")), r"line 1: expected printable characters, got U\+000D"),
    "a null byte": (text(lambda t: t + "\0"), r"expected printable characters, got U\+0000"),
    "no text": (
        lambda folder: (folder / MANIFEST).write_bytes(b"\xff\xfe\x00"),
        "expected text in UTF-8, got the byte 0xff at 0",
    ),
    "half a surrogate pair": (text(lambda t: t + "# \ud800"), "expected text in UTF-8"),
    "writing direction turned": (saying("title", "abc \u202e cba"), r"U\+202E RIGHT-TO-LEFT OVERRIDE"),
    "writing direction turned by an escape": (
        text(lambda t: t.replace("contact: ", 'contact: "\\u202e" #')),
        r"contact: .*U\+202E RIGHT-TO-LEFT OVERRIDE",
    ),
    "an escape sequence of a terminal": (
        text(lambda t: t.replace("contact: ", 'contact: "\\e]0;x\\a" #')),
        r"contact: .*U\+001B",
    ),
    "a title without an end": (saying("title", "x" * 30_000), "title: .*at most 200 characters"),
    "ten thousand authors": (saying("authors", ["x"] * 10_000), "authors: .*at most 100 items"),
    "no authors": (saying("authors", []), "authors: .*at least 1 item"),
    "a name that leads elsewhere": (saying("name", "../../etc"), r"name: .*got '\.\./\.\./etc'"),
    "an absolute name": (saying("name", "/etc/passwd"), "name: .*got '/etc/passwd'"),
    "a name with a line end": (saying("name", "good\n"), r"name: .*got 'good\\n'"),
    "the name of another folder": (saying("name", "better"), "name: expected that of the folder, 'good', got 'better'"),
    "another version of the schema": (saying("schema", 99), "schema: .*got 99"),
    "a version that is text": (saying("rules", "1"), "rules: .*got '1'"),
    "rules of another version": (saying("rules", 9999), r"rules: expected version \d+, got 9999"),
    "an unknown key": (saying("verified", True), "verified: Extra inputs are not permitted"),
    "a number of 400 digits": (text(lambda t: t.replace("tuning_trials: 0", "tuning_trials: 1" + "0" * 400)), "tuning_trials: "),
    "a number of 50 digits": (text(lambda t: t.replace("tuning_trials: 0", "tuning_trials: 1" + "0" * 50)), "tuning_trials: "),
    "a count that is negative": (saying("tuning_trials", -1), "tuning_trials: .*got -1"),
    "a count that is not a number": (
        text(lambda t: t.replace("tuning_trials: 0", "tuning_trials: .nan")),
        "tuning_trials: .*nan",
    ),
    "a day that is none": (saying("date", "2031-02-30"), "date: .*got '2031-02-30'"),
    "an unknown suite": (saying("suite.name", "best"), "suite.name: expected one of .*smoke.*, got 'best'"),
    "a suite that is a file": (saying("suite.name", "../mine.yaml"), "suite.name: .*got '../mine.yaml'"),
    "another suite by its hash": (
        saying("suite.hash", "0" * 16),
        "suite.hash: the design of suite smoke is [0-9a-f]{16} here, got 0000000000000000",
    ),
    "an origin that is none": (saying("algorithms.0.origin", "url"), "algorithms.0: .*got "),
    "an algorithm twice": (
        lambda f: said(f, "algorithms.1", {"origin": "built in", "name": "fedavg"}),
        "fedavg is given twice",
    ),
    "a plugin elsewhere": (saying("algorithms.1.file", "../traced.py"), r"algorithms.1: .*got '\.\./traced\.py'"),
    "a plugin with another hash": (
        saying("algorithms.1.sha256", "0" * 64),
        r"traced.py: sha256: algorithm traced of .* says 0{64}",
    ),
}
"""By name: what is done to the manifest, and words."""
for _name, (_make, _words) in MANIFESTS.items():
    KINDS[_name] = Kind(_make, _words)
