"""The rules are one text."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from fedbench import rules
from fedbench.cli.main import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "rules.md"


def test_docs_have_the_rules_that_the_package_has() -> None:
    assert PAGE.read_text(encoding="utf-8") == rules.TEXT, "write it anew: fedbench rules > docs/rules.md"


def test_the_command_prints_them() -> None:
    assert CliRunner().invoke(app, ["rules"]).output == rules.TEXT


def test_the_version_is_that_of_the_text() -> None:
    assert f"\nVersion {rules.VERSION}. " in rules.TEXT
