"""Makes the page of the rules from their text alone."""

from __future__ import annotations

from markupsafe import Markup

from fedbench import rules
from fedbench.leaderboard.pages.frame import MARKDOWN, Site


def render(site: Site, text: str = rules.TEXT) -> str:
    """Returns the page of a text in Markdown. HTML in the text is shown as it stands."""
    return site.page("rules.html", "rules.html", text=Markup(MARKDOWN.render(text)))
