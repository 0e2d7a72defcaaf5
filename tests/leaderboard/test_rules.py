"""The rules as a page."""

from __future__ import annotations

from fedbench.leaderboard.rules import render


def test_the_rules_are_a_page() -> None:
    page = render()
    assert "<h1>Rules</h1>" in page
    assert "<h2>What voids a row</h2>" in page
    assert 'href="index.html"' in page


def test_markdown_is_shown_and_html_in_it_is_not_run() -> None:
    page = render("# A\n\n* **b** <script>alert(1)</script>\n")
    assert "<li><strong>b</strong> &lt;script&gt;" in page
    assert "<script" not in page
