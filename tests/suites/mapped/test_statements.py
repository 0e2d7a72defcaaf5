"""What a map says as a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedbench.errors import UsageError
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import statements
from fedbench.suites.mapped.statements import Judged, Map
from tests.suites.findings.test_page import written


def test_a_file_says_the_same_again(tmp_path: Path, said: Map, results: Results) -> None:
    statements.write(tmp_path, said)
    assert statements.read(tmp_path, results) == said
    lines = (tmp_path / "map.json").read_text().splitlines()
    assert len(lines) > len(said.advice) + len(said.always) + len(said.regions), "a line for each statement"
    assert json.loads("\n".join(lines))["schema"] == 1
    assert not [line for line in lines if len(line) > 1000]


def test_a_map_of_other_runs_is_refused(tmp_path: Path, said: Map, results: Results) -> None:
    with pytest.raises(
        UsageError, match=r"map\.json: there is no such file; `fedbench suite map \S+small.yaml` makes it from the records$"
    ):
        statements.read(tmp_path, results)
    statements.write(tmp_path, said)
    point = results.suite.points[0].name
    fewer = replace(results, seats={**results.seats, point: {}})
    with pytest.raises(UsageError, match=rf"map\.json: it is of suite small \(\w+, runs {said.digest}\), expected small"):
        statements.read(tmp_path, fewer)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", r"map\.json: expected a mapping of keys, got list$"),
        ('{"schema": 2}', "schema"),
        ("{", r"map\.json"),
    ],
)
def test_a_file_that_is_no_map_is_refused(tmp_path: Path, results: Results, text: str, message: str) -> None:
    (tmp_path / "map.json").write_text(text)
    with pytest.raises(UsageError, match=message):
        statements.read(tmp_path, results)


GOOD: dict[str, Any] = {
    "axis": "seconds", "error": 0.2, "nearest": 0.3, "main": 0.25, "rows": dict.fromkeys(map(str, range(12)), 5), "missed": ["1", "2"],
    "undecided": {}, "in_sets": {}, "exact": 30, "bounds": 4, "too_low": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "predicts"),
    [
        ({}, True),
        ({"error": 0.201}, False),
        ({"main": 0.2}, False),
        ({"nearest": 0.2}, False),
        ({"rows": dict.fromkeys(map(str, range(12)), 6)}, False),
        ({"missed": ["1", "2", "3"]}, False),
        ({"undecided": {"13": "nobody"}}, False),
        ({"missed": ["1"], "undecided": {"13": "nobody"}}, True),
    ],
)
def test_when_an_axis_predicts(changed: dict[str, Any], predicts: bool) -> None:
    assert Judged.model_validate(GOOD | changed).predicts is predicts


def test_a_page_without_a_map_says_nothing_of_one(results: Results) -> None:
    assert "heterogeneity?" not in written(results)
