"""The reference that is made from code: every number of a scenario has a unit, and every part a
sentence."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

EXTENSIONS = Path(__file__).resolve().parents[2] / "docs/_ext"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules of the documentation are found as Sphinx finds them."""
    monkeypatch.syspath_prepend(str(EXTENSIONS))


def test_every_number_of_a_scenario_has_a_unit() -> None:
    lines = "\n".join(import_module("scenario_keys").pages()).splitlines()
    rows = [[cell.strip() for cell in re.split(r"(?<!\\) \| ", line.strip("| "))] for line in lines if line.startswith("| `")]
    assert len(rows) > 100
    assert [row for row in rows if "number" in row[1] and not row[2]] == []


def test_every_part_of_a_scenario_says_what_it_is() -> None:
    sections = re.split(r"^## ", "\n".join(import_module("scenario_keys").pages()), flags=re.MULTILINE)[1:]
    assert [one.splitlines()[0] for one in sections if "\n\n| key" not in one or len(one.split("| key")[0].split()) < 5] == []


@pytest.mark.parametrize(
    "file", sorted((EXTENSIONS.parents[1] / "csrc/include/fedbench").glob("*.hpp")), ids=lambda file: file.stem
)
def test_every_header_declares_something_that_is_documented(file: Path) -> None:
    page = "\n".join(import_module("header_comments").page(file))
    assert page.startswith(f"## {file.name}\n")
    assert page.count("```cpp") >= 1
    assert "///" not in page
