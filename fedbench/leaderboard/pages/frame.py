"""What all pages have in common: the templates, the way around the site, and links that hold in any
folder."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from fedbench.leaderboard import formats, verdicts
from fedbench.leaderboard.places import Places

MARKDOWN = MarkdownIt("commonmark", {"html": False})
"""HTML in a text is shown as it stands."""
PLAIN_MARKDOWN = MarkdownIt("commonmark", {"html": False}).disable(["image", "link", "autolink"])
"""For lines that hold names of anybody's: nothing in them leads or loads anywhere."""


@dataclass(frozen=True)
class Site:
    """What a site is made from.

    documents: of suites and stores; the first one is the front page. speed: the suite's own speed
    commit by commit, see `speed`; None: there is no such page. changes: what changed, oldest first;
    empty: there is no such page. submissions: what others handed in; empty: there is no such page.
    papers: what is said of papers whose printed numbers were made again; empty: there are no such
    pages.
    """

    documents: Sequence[Mapping[str, Any]]
    speed: Mapping[str, Any] | None = None
    changes: Sequence[Mapping[str, Any]] = ()
    submissions: Sequence[Mapping[str, Any]] = ()
    papers: Sequence[Mapping[str, Any]] = ()
    places: Places = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", Places(self.documents))

    def page(self, template: str, address: str, **context: Any) -> str:
        """Returns a page that will lie at an address."""
        return (
            environment()
            .get_template(template)
            .render(root="../" * address.count("/"), here=address, ways=self._ways(), places=self.places, **context)
        )

    def _ways(self) -> list[tuple[str, str]]:
        """Returns titles and addresses of the pages that every page links to."""
        handed_in = {one["document"] for one in self.submissions}
        names = [document["name"] for document in self.documents if document["name"] not in handed_in]
        titles = ["Overview"] if len(names) == 1 else names
        ways = [(title, self.places.overview(name)) for title, name in zip(titles, names, strict=True)]
        ways += [("Table", "table.html"), ("Compare", "compare.html"), ("Algorithms", "algorithms.html"), ("Rules", "rules.html")]
        ways += [("Papers", "papers.html")] if self.papers else []
        ways += [("Speed", "speed.html")] if self.speed else []
        ways += [("Submissions", "submissions.html")] if self.submissions else []
        return ways + ([("Changes", "changes.html")] if self.changes else [])


@functools.cache
def environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fedbench.leaderboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "seconds": formats.seconds,
        "place": formats.place,
        "percent": formats.percent,
        "number": formats.number,
        "size": formats.size,
        "breakable": breakable,
        "on_board": formats.on_board,
        "markdown": inline,
        "sign": verdicts.sign,
        "tone": verdicts.tone,
    }
    return environment


def breakable(selector: str) -> Markup:
    """Returns a selector that may wrap after `[` and commas rather than inside a word."""
    return Markup("<wbr>").join(re.split(r"(?<=[\[,])", selector))


def inline(text: str) -> Markup:
    """Returns a line of Markdown as HTML."""
    return Markup(PLAIN_MARKDOWN.renderInline(text))
