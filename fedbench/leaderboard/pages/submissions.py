"""Makes the page of what others handed in: whose it is, how far it was checked, and what was
retracted."""

from __future__ import annotations

from fedbench.leaderboard.pages.frame import Site


def render(site: Site) -> str:
    """Returns the page, with the newest submission first."""
    newest = sorted(site.beside.submissions, key=lambda one: (one.date, one.name), reverse=True)
    return site.page("submissions.html", "submissions.html", submissions=newest)
