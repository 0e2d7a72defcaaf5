"""The rules as a page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fedbench.leaderboard.document import of_records
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pages.rules import render
from fedbench.results.record import Record


@pytest.fixture(name="site")
def _site(record: Callable[..., Record]) -> Site:
    return Site([of_records([record()], "title")])


def test_the_rules_are_a_page(site: Site) -> None:
    page = render(site)
    assert "<h1>Rules</h1>" in page
    assert "<h2>What voids a row</h2>" in page
    assert 'href="index.html"' in page


def test_markdown_is_shown_and_html_in_it_is_not_run(site: Site) -> None:
    page = render(site, "# A\n\n* **b** <script>alert(1)</script>\n")
    assert "<li><strong>b</strong> &lt;script&gt;" in page
    assert "<script" not in page
