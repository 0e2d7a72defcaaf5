"""Rows, and the file that keeps them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedbench.bench.case import Way
from fedbench.bench.measure import Measured
from fedbench.bench.report import PUBLIC, load, load_all, rows, save
from fedbench.errors import UsageError

from .test_case import toy, way

OURS, RIVAL, SLOW, FAST = way("ours"), way("rival"), replace(way("slow"), limit=True), replace(way("fast"), limit=True)
ABSENT = Way("absent", way("").start, ("torch",))
CASE = replace(toy(OURS, RIVAL, ABSENT, SLOW, FAST), unit="event", units=lambda size: 10 * size)


def measured() -> Measured:
    ones = np.ones(3)
    return Measured({OURS: 2 * ones, RIVAL: 6 * ones, SLOW: 3 * ones, FAST: ones}, {ABSENT: "torch is not installed"})


def test_rivals_then_the_fastest_limit_then_what_was_skipped() -> None:
    found = list(rows(CASE, measured(), threads=2, peak_mb=12.3))
    assert [(r.versus, r.ratio, r.ours_us, r.theirs_us, r.note) for r in found] == [
        ("rival", 3.0, 2e6, 6e6, "66666667 ns per event, peak 12 MB"),
        ("fast", 0.5, 2e6, 1e6, "fraction of the fastest reading: fast, slow takes 3.00x"),
        ("absent", None, None, None, "skipped: torch is not installed"),
    ]
    assert [r.library for r in found] == ["", "", "torch"]
    assert tuple(found[0].public()) == PUBLIC


def test_a_case_that_this_build_lacks_is_one_row() -> None:
    (row,) = rows(CASE, Measured({}, {OURS: "this build has no f"}), threads=1)
    assert (row.versus, row.ratio, row.note) == ("", None, "skipped: this build has no f")


def test_save_and_load(tmp_path: Path) -> None:
    found = list(rows(CASE, measured(), threads=2))
    save(tmp_path / "a.json", found, {"cpu": "x"})
    assert load(tmp_path / "a.json") == (found, {"cpu": "x"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "the file: Input should be a valid dictionary"),
        (json.dumps({"rows": []}), "schema: Field required"),
        (json.dumps({"schema": 2}), "schema: Input should be 1, got 2"),
        (json.dumps({"schema": 1, "provenance": {}, "rows": [{"case": "c"}]}), "rows.0.versus: Field required"),
    ],
)
def test_another_file_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(UsageError, match=r"a\.json: ") as error:
        load(tmp_path / "a.json")
    assert message in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "a.json")
    with pytest.raises(UsageError, match="cannot be written"):
        save(tmp_path / "no/folder.json", [], {})


def test_rows_of_several_files_stand_together_if_they_were_measured_alike(tmp_path: Path) -> None:
    found, files = list(rows(CASE, measured(), threads=2)), [tmp_path / name for name in ("a.json", "b.json", "c.json")]
    for file, cpu in zip(files, ("x", "x", "y"), strict=True):
        save(file, found, {"cpu": cpu, "load": 1.5 if file is files[0] else 2.5})
    assert load_all(files[:2]) == ([*found, *found], {"cpu": "x", "load": 1.5})
    with pytest.raises(UsageError, match=r"c\.json: expected the cpu of .*a\.json, 'x', got 'y'"):
        load_all(files)


def test_least_most_compile_time_and_what_was_asked_are_kept() -> None:
    compiled = replace(measured(), compile_seconds={RIVAL: 1.25})
    row = next(rows(replace(CASE, asked=2.0), compiled, threads=1))
    assert (row.least, row.most, row.compile_seconds, row.asked) == (3.0, 3.0, 1.25, 2.0)
    assert row.note.endswith("compiled before, in 1.2 s")
