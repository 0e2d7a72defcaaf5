"""The published page is what the published records say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fedbench import rules
from fedbench.analysis import profiles
from fedbench.suites import suite as suites
from fedbench.suites.findings.page import page
from fedbench.suites.findings.results import load, reference_file

RESULTS = Path(__file__).resolve().parents[3] / "results"


@pytest.mark.slow
def test_the_page_is_of_the_records() -> None:
    """Read thousands of records, and the page is made again to the last digit."""
    published = (RESULTS / "findings.md").read_text()
    command = re.search(r"Made by `(fedbench suite report ([a-z -]+))`", published)
    assert command is not None
    found = [load(suites.load(name), RESULTS / "tuned", RESULTS / "suites") for name in command[2].split()]
    assert page([(one, profiles.read(reference_file(one.suite.name))) for one in found], command[1], rules.VERSION) == published
