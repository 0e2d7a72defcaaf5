"""`fedbench theory`: claims by name, and its lines in words."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from fedbench.cli.main import app
from fedbench.cli.theory import line
from fedbench.errors import UsageError
from fedbench.proof.theory import table
from fedbench.proof.theory.rows import Claim, Row, bound, bound_by, exact, value


def words(row: Row) -> str:
    return " ".join(line(row).split())


def test_lines_in_words() -> None:
    terms = {"transient": 1.0, "noise": 3.0}
    assert words(bound("b", 1.0, terms)) == "holds b 1 <= 4; the bound is transient 25%, noise 75%"
    assert words(bound_by("b", 5.0, 4.0)) == "FAILS b 5 <= 4"
    assert words(value("v", 0.9, 1.0, 0.05)) == "FAILS v 0.9, expected 1, allowed +- 0.05"
    assert words(exact("e", [1.0, 1.0], 1.0)) == "holds e 1.000, expected 1, allowed +- 0.05"


def test_one_claim_by_name() -> None:
    result = CliRunner().invoke(app, ["theory", "mean-staleness", "--json"])
    assert result.exit_code == 0
    rows = [json.loads(text) for text in result.stdout.splitlines()]
    assert {row["claim"] for row in rows} == {"mean-staleness"}
    assert len(rows) == 4


def test_exit_1_if_a_line_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Claim("wrong", "Somebody 2020", "It is not so.", lambda: iter([value("v", 2.0, 1.0, 0.1)]))
    monkeypatch.setattr(table, "CLAIMS", {"wrong": wrong})
    result = CliRunner().invoke(app, ["theory", "wrong"])
    assert result.exit_code == 1
    assert "wrong: It is not so. (Somebody 2020)" in result.stdout
    assert "1 claim, 1 line, 1 of them fails" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mean-stalenes"], "did you mean 'mean-staleness'"),
        (["fedbuff-orders", "--quick"], "fedbuff-orders takes longer than --quick allows"),
        (["mean-staleness", "--picture", "panel.foo"], "--picture must end in .png or .svg, got panel.foo"),
        (["mean-staleness", "--picture", "/proc/panel.png"], "/proc/panel.png cannot be written"),
    ],
)
def test_misuse(arguments: list[str], words: str) -> None:
    """Nothing asked for is not "all hold"; what a picture's name lacks is said before minutes of
    work."""
    with pytest.raises(UsageError, match=re.escape(words)):
        CliRunner().invoke(app, ["theory", *arguments], catch_exceptions=False)
