"""Files beside records: measurements of speed, the log of changes, conformance vectors, sites and
tables of trials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.hostile.case import ROOT, Case, Folder, Hole, Link, Made, Pipe

ROW: dict[str, Any] = {
    "case": "sum", "versus": "numpy", "ratio": 2.0, "low": 1.9, "high": 2.1, "ours_us": 1.0, "theirs_us": 2.0, "threads": 1,
    "library": "numpy", "note": "",
}  # fmt: skip
ARCHIVES = ("--archives", f"{ROOT}/results/suites", "--tuned-in", f"{ROOT}/results/tuned")
RECORDS = f"{ROOT}/results/records"


def _measured(**changes: Any) -> str:
    return json.dumps({"schema": 1, "provenance": {}, "rows": [{**ROW, **changes}]})


def _compared(name: str, made: Made, words: str) -> Case:
    return Case(
        f"measurement: {name}", ("bench", "--compare", "good.json", "b.json"), words, {"b.json": made, "good.json": _measured()}
    )


def _log(name: str, made: Made, words: str) -> Case:
    arguments = ("leaderboard", "suites", "ringleader", "-o", "site", "--changes", "c.yaml", *ARCHIVES)
    return Case(f"changes: {name}", arguments, words, {"c.yaml": made})


def _entry(name: str, words: str, **entry: Any) -> Case:
    return _log(name, json.dumps({"changes": [{"date": "2026-11-24", "text": "x"} | entry]}), words)


def _asv(name: str, made: Made, words: str) -> Case:
    arguments = ("leaderboard", "suites", "ringleader", "-o", "site", "--speed", "asv", *ARCHIVES)
    return Case(f"speed: {name}", arguments, words, {"asv/m/machine.json": '{"machine": "m"}', "asv/m/a.json": made})


def _site(name: str, files: Mapping[str, Made], words: str) -> Case:
    return Case(f"site: {name}", ("leaderboard", "check", "."), words, files, code=1)


TIMED = {"date": 1, "commit_hash": "c", "result_columns": ["result", "params"], "results": {"x.time_y": [[1.0], []]}}

CASES = [
    _compared("a pipe", Pipe(), "it is no plain file"),
    _compared("a device without an end", Link("/dev/zero"), "it is no plain file"),
    _compared("a folder", Folder(), "it is no plain file"),
    _compared("a hole of a terabyte", Hole(1 << 40), "expected at most"),
    _compared("a hole of 4 MB", Hole(4 << 20), "not valid JSON"),
    _compared("100,000 levels", "[" * 100_000, "levels"),
    _compared("a list", "[]", "expected a file of `fedbench bench --save`"),
    _compared("another schema", _measured().replace('"schema": 1', '"schema": 2'), "schema.*got 2"),
    _compared("a schema of many lines", _measured().replace('"schema": 1', '"schema": "' + "a\\nb" * 5000 + '"'), "schema"),
    _compared("a ratio that is not a number", _measured().replace("2.0", "NaN"), "expected finite numbers, got NaN"),
    _compared("a ratio of zero", _measured(ratio=0), "rows.0.ratio.*got 0"),
    _compared("a ratio that is negative", _measured(low=-1), "rows.0.low.*got -1"),
    _compared("a ratio that is text", _measured(ratio="a\nb" * 5000), r"rows.0.ratio.*got 'a\\nb"),
    _compared("an unknown key", _measured(more=1), "rows.0.*got 1"),
    _compared("a case that is a list", _measured(case=[[["a\nb"]]]), "rows.0.case"),
    _compared(
        "100,000 rows that are numbers", lambda: json.dumps({"schema": 1, "provenance": {}, "rows": [1] * 100_000}), "rows.0"
    ),
    _compared("no rows", json.dumps({"schema": 1, "provenance": {}, "rows": []}), "expected a case that both measured"),
    _compared("not UTF-8", b"\xff", "expected text in UTF-8"),
    _log("a pipe", Pipe(), "it is no plain file"),
    _log("a device without an end", Link("/dev/zero"), "it is no plain file"),
    _log("100,000 levels", "[" * 100_000, "expected at most 30 levels"),
    _log("text of many lines for a list", json.dumps({"changes": "a\nb" * 5000}), "expected a list of entries"),
    _log(
        "10,000 unknown keys", lambda: json.dumps({"changes": [{f"k{i}": "x" for i in range(10_000)}]}), "expected date and text"
    ),
    _entry("a date without hyphens", "expected a date such as 2026-11-24, got '20261124'", date="20261124"),
    _entry("a week", "expected a date such as 2026-11-24, got '2026-W48'", date="2026-W48"),
    _entry("a day of a week", "expected a date such as 2026-11-24, got '2026-W48-2'", date="2026-W48-2"),
    _entry("a date in other digits", "expected a date such as", date="２０２６-11-24"),
    _entry("a date with a time", "expected a date such as", date="2026-11-24T10:00"),
    _entry("a date of many lines", "expected a date such as", date="2026-11-24\n" * 500),
    _entry("a date beyond all", "expected a date such as", date="99999-01-01"),
    _entry("a date that is a number", "expected date and text", date=20261124),
    _asv("a pipe", Pipe(), "it is no plain file"),
    _asv("100,000 levels", "[" * 100_000, "levels"),
    _asv("a hole of a terabyte", Hole(1 << 40), "expected at most"),
    _asv("a date of 10^50", json.dumps({**TIMED, "date": 10**50}), "expected results of asv"),
    _asv("a date that is text", json.dumps({**TIMED, "date": "a\nb" * 500}), "expected results of asv"),
    _asv("results that are a list", json.dumps({**TIMED, "results": [1]}), "expected results of asv"),
    _asv(
        "names of parameters that are numbers",
        json.dumps({**TIMED, "results": {"x.time_y": [[1.0], [[1]]]}}),
        "expected results of asv",
    ),
    _site("a pipe", {"data/site.json": Pipe()}, "no plain file"),
    _site("100,000 levels", {"data/site.json": "[" * 100_000}, "levels"),
    _site("a hole of a terabyte", {"data/site.json": Hole(1 << 40)}, "expected at most"),
    _site("3,000,000 lists", {"data/site.json": lambda: "[" + "[]," * 3_000_000 + "1]"}, "expected at most 2,000,000 lists"),
    Case("trials: a pipe", ("tune", "smoke", "--collect", "-o", "."), "no plain file", {"smoke-trials.parquet": Pipe()}, code=1),
    Case(
        "trials: a hole of a terabyte",
        ("tune", "smoke", "--collect", "-o", "."),
        "expected at most",
        {"smoke-trials.parquet": Hole(1 << 40)},
        code=1,
    ),
    Case(
        "trials: no table",
        ("tune", "smoke", "--collect", "-o", "."),
        "trials smoke-trials.parquet",
        {"smoke-trials.parquet": "PAR1" * 100},
        code=1,
    ),
    Case("vectors: a folder without any", ("conformance", "."), "no .*json vectors"),
    Case("record: a pipe", ("verify", "r"), "no plain file", {"r/record.json": Pipe()}, code=1),
    Case("record: a hole of a terabyte", ("verify", "r"), "expected at most", {"r/record.json": Hole(1 << 40)}, code=1),
    Case("record: 100,000 levels", ("verify", "r"), "cannot be read", {"r/record.json": "[" * 100_000}, code=1),
    Case(
        "record: 3,000,000 lists",
        ("verify", "r"),
        "expected at most 2,000,000 lists",
        {"r/record.json": lambda: "[" + "[]," * 3_000_000 + "1]"},
        code=1,
    ),
    Case(
        "record: a seal of many lines",
        ("verify", "r"),
        "its seal does not fit",
        {"r/record.json": json.dumps({"seal": "a\nb" * 5000, "files": {}})},
        code=1,
    ),
    Case("archive: a pipe", ("verify", "r"), "expected record.json and curves.parquet", {"r/runs.parquet": Pipe()}, code=2),
    Case("archive: a hole of a terabyte", ("verify", "r"), "expected at most", {"r/runs.parquet": Hole(1 << 40)}, code=1),
]
