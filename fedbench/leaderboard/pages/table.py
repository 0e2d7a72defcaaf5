"""The table of all rows and the comparison of a few: what a script fills, and what there is without
one."""

from __future__ import annotations

from fedbench.leaderboard.pages.frame import Site


def render(site: Site) -> str:
    """Returns the page of the table."""
    return site.page("table.html", "table.html", documents=site.documents)


def compare(site: Site) -> str:
    """Returns the page of the comparison."""
    return site.page("compare.html", "compare.html", documents=site.documents)
