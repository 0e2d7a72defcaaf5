"""The rules as one HTML page: a pure function of their text."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markupsafe import Markup

from fedbench import rules
from fedbench.leaderboard.page import environment


def render(text: str = rules.TEXT) -> str:
    """Returns the page of rules in Markdown; HTML in the text is shown as it stands."""
    content = MarkdownIt("commonmark", {"html": False}).render(text)
    return environment().get_template("rules.html").render(text=Markup(content))
