"""The document of a paper: what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fedbench.documents.paper import Paper
from fedbench.documents.read import as_json, parsed
from fedbench.errors import RecordError
from tests.changes import GONE, put
from tests.leaderboard.papers import content

CHANGES = [
    *(
        (name, GONE)
        for name in (
            "number",
            "key",
            "cited",
            "title",
            "venue",
            "link",
            "rules",
            "counts",
            "stand_ins",
            "orders",
            "stand_in_orders",
            "tables",
            "theory",
        )
    ),
    *((f"tables.0.{name}", GONE) for name in ("name", "about", "kind", "columns", "cells", "orders", "variations", "explained")),
    *(
        (f"tables.0.cells.0.{name}", GONE)
        for name in ("number", "printed", "ours", "seeds", "verdict", "why", "guesses", "hours")
    ),
    ("more", 1),
    ("tables.0.more", 1),
    ("tables.0.cells.0.more", ""),
    ("tables.0.orders.0.more", ""),
    ("tables.0.variations.0.more", ""),
    ("theory.0.more", 1),
    ("figures.0.more", ""),
    ("alignment.0.more", ""),
    ("key", "../up"),
    ("link", "javascript:alert(1)"),
    ("link", 'https://a" onclick="b'),
    ("counts.fine", {}),
    ("counts.runs.fine", 1),
    ("counts", {"close": 1}),
    ("rules", 0),
    ("stand_ins", -1),
    ("theory.0.sign", 0),
    ("theory.0.sign", GONE),
    ("tables", []),
    ("tables.1.name", "T1"),
    ("tables.0.name", 'T" x'),
    ("tables.0.kind", "guess"),
    ("tables.0.cells.0.number", 2),
    ("tables.0.cells.0.number", 0),
    ("tables.0.cells.0.setting", ["FedAvg"]),
    ("tables.0.cells.0.verdict", "fine"),
    ("tables.0.cells.0.hours", -1.0),
    ("tables.0.cells.0.hours", "1"),
    ("tables.0.variations.0.cells.0.number", 9),
    ("tables.0.orders.0.order", "held"),
    ("theory.0.holds", "yes"),
    ("theory.0.low", float("nan")),
    ("figures.0.data.lines.0.at", [1.0]),
    ("figures.0.data.metric", "test_loss"),
    ("alignment.0.not_code", "none"),
    ("alignment.0.holds", GONE),
    ("alignment.0.last", 2),
    ("errata.0.meant", GONE),
    ("unprinted.0", {}),
]


def test_what_is_written_is_read_again() -> None:
    one = parsed(json.dumps(content()), Paper, "paper", "expected a paper")
    assert parsed(as_json(one), Paper, "paper", "expected a paper") == one


@pytest.mark.parametrize(("path", "value"), CHANGES)
def test_what_has_another_form_is_refused(path: str, value: Any) -> None:
    one = content()
    put(one, path, value)
    with pytest.raises(RecordError) as refused:
        parsed(json.dumps(one), Paper, "paper", "expected a paper")
    assert str(refused.value).startswith("paper: ")
    assert "\n" not in str(refused.value)
