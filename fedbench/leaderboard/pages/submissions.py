"""Makes the page of what others handed in: whose it is, how far it was checked, and what was
retracted."""

from __future__ import annotations

from fedbench.leaderboard.pages.frame import Site


def render(site: Site) -> str:
    """Returns the page, with the newest submission first.

    A submission is {name, title, authors, date, suite, validity, reason, document, rows, points}.
    `document` names the document that has its rows. It is None if there are no rows, such as for a
    retracted submission.
    """
    newest = sorted(site.submissions, key=lambda one: (one["date"], one["name"]), reverse=True)
    return site.page("submissions.html", "submissions.html", submissions=newest)
