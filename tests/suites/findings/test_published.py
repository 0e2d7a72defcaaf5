"""The published pages are what the published records say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fedbench import rules
from fedbench.leaderboard import build_suites
from fedbench.suites import suite as suites
from fedbench.suites.findings.document import document
from fedbench.suites.findings.page import page
from fedbench.suites.findings.results import Results, load, reference_for

RESULTS = Path(__file__).resolve().parents[3] / "results"


PUBLISHED = (RESULTS / "findings.md").read_text()


@pytest.fixture(scope="module", name="found")
def _found() -> list[Results]:
    """The suites that the page names, from thousands of records."""
    names = re.search(r"Made by `fedbench suite report ([a-z -]+)`", PUBLISHED)
    assert names is not None
    return [load(suites.load(name), RESULTS / "tuned", RESULTS / "suites") for name in names[1].split()]


@pytest.mark.slow
def test_the_page_is_of_the_records(found: list[Results]) -> None:
    """To the last digit."""
    command = f"fedbench suite report {' '.join(one.suite.name for one in found)}"
    assert page([(one, reference_for(one)) for one in found], command, rules.VERSION) == PUBLISHED


@pytest.mark.slow
def test_the_site_is_of_the_records(found: list[Results], tmp_path: Path) -> None:
    build_suites([document(one, reference_for(one)) for one in found], tmp_path)
    files = {file.name for file in tmp_path.iterdir()}
    assert files == {file.name for file in (RESULTS / "site").iterdir()}
    assert [name for name in files if (tmp_path / name).read_bytes() != (RESULTS / "site" / name).read_bytes()] == []
