"""The one reader of documents: what it refuses, and that it gives what was written."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fedbench.documents.parts import Part, Ratio
from fedbench.documents.pictures import Pictures
from fedbench.documents.read import as_json, parsed, read
from fedbench.documents.site import Change, Content
from fedbench.documents.suite import Document
from fedbench.errors import RecordError, UsageError
from fedbench.leaderboard.document import of_suite
from tests.changes import GONE, put
from tests.leaderboard.suite import CONTENT, DOCUMENT, runs

ROOT = Path(__file__).resolve().parents[2]


class Compared(Part):
    ratio: Ratio | None = None


@given(st.floats(0.01, 100), st.floats(0, 100), st.floats(0.01, 100) | st.just(math.inf))
def test_a_ratio_is_read_as_it_was_written(value: float, low: float, high: float) -> None:
    text = json.dumps({"ratio": [value, low, None if math.isinf(high) else high]})
    one = parsed(text, Compared, "x", "expected a ratio")
    assert one.ratio is not None
    assert (one.ratio.value, one.ratio.low, one.ratio.high) == (value, low, high)
    assert json.loads(as_json(one)) == json.loads(text)


@pytest.mark.parametrize("ratio", [[1.0, 2.0], [0.0, 0.0, 1.0], [1.0, -1.0, 2.0], ["1", 1.0, 2.0], 1.0, {"value": 1.0}])
def test_what_is_no_ratio_is_named(ratio: Any) -> None:
    with pytest.raises(RecordError, match=r"^x: expected a ratio: ratio"):
        parsed(json.dumps({"ratio": ratio}), Compared, "x", "expected a ratio")


def test_a_document_is_read_as_it_was_written(record: Any, tmp_path: Path) -> None:
    one = of_suite(DOCUMENT, runs(record))
    file = tmp_path / "made-up.json"
    file.write_text(as_json(one))
    assert read(file, Document) == one
    assert "sensitivity" not in file.read_text(), "what has its default value is left out"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", 5),
        ("schema", GONE),
        ("more", 1),
        ("points", []),
        ("points", CONTENT["points"] * 501),
        ("points.0.targets", ["0.8"]),
        ("points.0.budget_seconds", True),
        ("kinds", ["other"]),
        ("axis.more", 1),
        ("algorithms.0.label", "x" * 20_001),
        ("boards.tuned.calm.0.axes", {"steps": {}}),
        ("boards.tuned.calm.1.unfinished", -1),
        ("groups.tuned.calm.0.leaders", {"never": "fast"}),
        ("profiles.factors", [None]),
    ],
)
def test_the_first_wrong_field_is_named(path: str, value: Any) -> None:
    content = json.loads(json.dumps(CONTENT))
    put(content, path, value)
    with pytest.raises(RecordError) as refused:
        parsed(json.dumps(content), Document, "made-up.json", "expected a document")
    assert str(refused.value).startswith(f"made-up.json: expected a document: {path.split('.', maxsplit=1)[0]}")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema": 6, "schema": 6, "documents": ["a"]}', "twice"),
        ('{"schema": 6, "documents": ["a"], "docs": NaN}', "NaN"),
        ("[" * 100_000, "levels"),
        ("{", "not valid JSON"),
        ("7", "Content: Input should be an object, got 7"),
    ],
)
def test_what_is_no_json_of_ours_is_refused_before_it_is_a_document(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "site.json").write_text(text)
    with pytest.raises(RecordError, match=rf"^leaderboard .*site\.json: .*{words}"):
        read(tmp_path / "site.json", Content)


def test_a_file_has_a_largest_size_and_has_to_be_there(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(" " * 100)
    with pytest.raises(UsageError, match="expected at most 99 bytes"):
        read(tmp_path / "a.json", Content, most=99, error=UsageError)
    with pytest.raises(RecordError, match="cannot be read"):
        read(tmp_path / "b.json", Content)


def test_nothing_changes_a_part() -> None:
    one = Change(date="2026-01-01", text="It began.")
    with pytest.raises(ValidationError, match="frozen"):
        one.text = "It ended."  # type: ignore[misc]


def test_the_committed_pictures_are_read() -> None:
    files = sorted((ROOT / "results/suites").glob("*/pictures.json"))
    assert [file.parent for file in files] == sorted(file.parent for file in (ROOT / "results/suites").glob("*/runs.parquet"))
    for file in files:
        found = read(file, Pictures)
        assert found.labels.keys() >= found.timelines.keys()
