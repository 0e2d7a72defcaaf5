"""`fedbench bench` as users meet it; every call is a real process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .test_cli import fedbench, rows

PUBLIC = {"case", "versus", "ratio", "ours_us", "theirs_us", "threads", "note"}


@pytest.mark.extra("torch")
def test_measure_save_compare(tmp_path: Path) -> None:
    result = fedbench("bench", "queue-hold-100", "distill-64x10", "--rounds", "3", "--json", "--save", "a.json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("starting again with an allocator that keeps its memory: MALLOC_") == 1
    found = rows(result.stdout)
    assert [(r["case"], r["versus"]) for r in found] == [
        ("queue-hold-100", "heapq"), ("queue-hold-100", "simpy"), ("distill-64x10", "torch-autograd"),
    ]  # fmt: skip
    for row in found:
        assert set(row) == PUBLIC
        assert row["ratio"] > 0
        assert row["threads"] == 1
    assert rows(fedbench("bench", "--read", "a.json", "--json", cwd=tmp_path).stdout) == found
    kept = json.loads((tmp_path / "a.json").read_text())
    assert kept["provenance"]["libraries"]["numpy"]

    # Whatever the noise of three rounds was: quartiles that leave no doubt, and one case half as
    # fast.
    for file, share in (("a.json", 1), ("b.json", 2)):
        for row in kept["rows"]:
            ratio = row["ratio"] / (share if row["case"] == "distill-64x10" else 1)
            row |= {"ratio": ratio, "low": 0.99 * ratio, "high": 1.01 * ratio}
        (tmp_path / file).write_text(json.dumps(kept))
    same = fedbench("bench", "--compare", "a.json", "a.json", cwd=tmp_path)
    assert (same.returncode, "slower by more than 1.3: none" in same.stdout) == (0, True)
    slower = fedbench("bench", "--compare", "a.json", "b.json", "--json", cwd=tmp_path)
    assert slower.returncode == 1
    assert {r["case"]: r["verdict"] for r in rows(slower.stdout)} == {"queue-hold-100": "same", "distill-64x10": "slower"}
    assert fedbench("bench", "--compare", "a.json", "b.json", "--threshold", "2.5", cwd=tmp_path).returncode == 0


def test_a_plan_reports_its_memory_and_a_table_is_drawn() -> None:
    result = fedbench("bench", "plan-stream-1m", "--rounds", "3", "--threads", "2", COLUMNS="200")
    assert result.returncode == 0, result.stderr
    assert "torch threads: 2" in result.stdout
    assert "calibration" in result.stdout
    assert "ns per job, peak " in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["queue-hold-10"], "unknown case 'queue-hold-10'; did you mean 'queue-hold-100'?"),
        (["--group", "quue-hold"], "unknown group 'quue-hold'; did you mean 'queue-hold'?"),
        (["--compare", "a.json", "b.json"], "a.json: cannot be read"),
        (["distill-64x10", "--rounds", "2"], "Invalid value for '--rounds'"),
    ],
)
def test_used_wrongly(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = fedbench("bench", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert "starting again" not in result.stderr
