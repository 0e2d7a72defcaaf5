"""Makes the catalogue of algorithms, which is one HTML page, from their descriptions alone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from markupsafe import Markup

from fedbench.documents.suite import Facts
from fedbench.leaderboard.pages.frame import environment


def render(algorithms: Sequence[Facts], version: str) -> str:
    """Returns the page of descriptions that `fedbench info --json` gives. It has the style sheet in
    it, so that it is one file. The same descriptions give the same bytes."""
    style = Markup((files("fedbench.leaderboard") / "assets" / "style.css").read_text(encoding="utf-8"))
    template = environment().get_template("catalogue.html")
    return template.render(algorithms=algorithms, version=version, style=style)
