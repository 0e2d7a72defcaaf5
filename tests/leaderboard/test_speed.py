"""The suite's own speed, from what asv keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedbench.errors import UsageError
from fedbench.leaderboard.pages import speed


def result(folder: Path, commit: str, date: int, values: list[float | None]) -> None:
    content: dict[str, Any] = {
        "commit_hash": commit, "date": date, "result_columns": ["result", "params", "version"],
        "results": {"cases.Kernels.time_case": [values, [["'sum'", "'queue'"]], "v"], "cases.peakmem_plan": [[7.0], [], "v"]},
    }  # fmt: skip
    (folder / f"{commit}-env.json").write_text(json.dumps(content))


def test_cases_are_lines_over_commits_in_order_of_time(tmp_path: Path) -> None:
    folder = tmp_path / "label"
    folder.mkdir()
    (folder / "machine.json").write_text(json.dumps({"machine": "label", "cpu": "a CPU"}))
    result(folder, "bb", 1_795_316_174_000, [1e-3, float("nan")])
    result(folder, "aa", 1_795_402_574_000, [2e-3, 4.0])
    (machine,) = speed.read(tmp_path).machines
    assert (machine.label, machine.cpu, machine.commits) == ("label", "a CPU", ("bb", "aa"))
    assert machine.days == ("2026-11-22", "2026-11-23")
    assert [(one.name, one.values) for one in machine.cases] == [("sum", (0.001, 0.002)), ("queue", (None, 4.0))]


def test_a_history_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"speed .*nowhere: expected results of asv, MACHINE/machine\.json"):
        speed.read(tmp_path / "nowhere")


def test_what_is_none_of_asvs_is_named(tmp_path: Path) -> None:
    (tmp_path / "label").mkdir()
    (tmp_path / "label" / "machine.json").write_text('{"machine": "label"}')
    (tmp_path / "label" / "x.json").write_text("{}")
    with pytest.raises(UsageError, match=r"speed .*label: expected results of asv: commit_hash: Field required"):
        speed.read(tmp_path)
