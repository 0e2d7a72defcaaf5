"""Makes the pages of the table of all rows and of the comparison of a few. Scripts fill them;
without scripts they link to pages that need none."""

from __future__ import annotations

from fedbench.leaderboard.pages.frame import Site


def render(site: Site) -> str:
    """Returns the page of the table."""
    return site.page("table.html", "table.html", documents=site.documents)


def compare(site: Site) -> str:
    """Returns the page of the comparison."""
    return site.page("compare.html", "compare.html", documents=site.documents)
