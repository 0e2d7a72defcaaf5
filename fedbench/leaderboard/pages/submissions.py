"""What others handed in: whose it is, how far it was checked, and what was taken back."""

from __future__ import annotations

from fedbench.leaderboard.pages.frame import Site


def render(site: Site) -> str:
    """Returns the page, the newest submission first. A submission is {name, title, authors, date,
    suite, validity, reason, document, rows, points}: `document` is the name of the one that has its
    rows, None for one that has none, such as one that was retracted."""
    newest = sorted(site.submissions, key=lambda one: (one["date"], one["name"]), reverse=True)
    return site.page("submissions.html", "submissions.html", submissions=newest)
