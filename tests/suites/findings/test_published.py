"""The published pages are what the published records say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fedbench import rules
from fedbench.leaderboard import check, of_suite, write
from fedbench.leaderboard.pages import changes, speed
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
def test_a_site_is_made_of_the_records(found: list[Results], tmp_path: Path) -> None:
    """Every page of it, and nothing is on it that its data do not say."""
    documents = [
        of_suite(document(one, reference_for(one)), {"tuned": one.complete(tuned=True), "published": one.complete(tuned=False)})
        for one in found
    ]
    changed = changes.read(RESULTS / "changes.yaml")
    index = write(documents, tmp_path, asv=speed.read(RESULTS / "asv"), changed=changed)
    assert check(tmp_path) == []
    assert f"{len(found[0].runs):,} runs" in index.read_text()
    rows = sum(len(of_point) for one in found for kind in (True, False) for of_point in one.complete(tuned=kind).values())
    pages = sum(1 for one in found for _ in (tmp_path / one.suite.name).glob("*/*.html"))
    assert pages == rows, "a page a row"
