"""Has what all pages have in common: the templates, the links to the main pages, and the addresses,
which are relative so that they hold in any folder."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from fedbench import written
from fedbench.documents.paper import Paper
from fedbench.documents.site import Beside
from fedbench.documents.suite import Document, rows_at
from fedbench.leaderboard import formats, heatmap, mapped, verdicts
from fedbench.leaderboard.pictures.bars import bar
from fedbench.leaderboard.places import PAGES, Places
from fedbench.leaderboard.ways import FRONT, HOME, Ways, ways

MARKDOWN = MarkdownIt("commonmark", {"html": False})
"""Makes HTML of Markdown. Tags in the text are shown as they stand."""
PLAIN_MARKDOWN = MarkdownIt("commonmark", {"html": False}).disable(["image", "link", "autolink"])
"""The same for lines that may hold anybody's words. Nothing in them links or loads anything."""
NOTHING = Beside()
View = dict[str, object]
"""What only a template reads, by name."""


@dataclass(frozen=True)
class Site:
    """What a site is made from. A page is left out if there is nothing for it.

    Attributes:
        documents: those of suites and stores. The first one is the front page of the findings.
        papers: the documents of papers whose printed numbers were made again.
        beside: what else it shows. Without a home page the first overview is `index.html`.
        has_docs: whether the documentation is in the folder `docs`.
        places: the addresses of the pages, which follow from the documents.
    """

    documents: Sequence[Document]
    papers: Sequence[Paper] = ()
    beside: Beside = NOTHING
    has_docs: bool = False
    places: Places = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", Places(self.documents, FRONT if self.beside.home else HOME))

    def page(self, template: str, address: str, **context: object) -> str:
        """Returns the page of a template for an address. `context` goes to the template."""
        template_of = environment().get_template(template)
        return template_of.render(
            root="../" * address.count("/"), here=address, ways=self._ways(address), places=self.places, **context
        )

    def _ways(self, address: str) -> Ways:
        """Returns the links at the top of a page. Documents of submissions have none."""
        shown = self.beside
        handed_in = {one.document for one in shown.submissions}
        names = [document.name for document in self.documents if document.name not in handed_in]
        overviews = {name: self.places.overview(name) for name in names} if len(names) > 1 else {}
        is_shown = {"papers": self.papers, "speed": shown.speed, "submissions": shown.submissions, "changes": shown.changes}
        pages = [page for page in PAGES if is_shown.get(page, True)]
        front = self.places.overview(self.documents[0].name)
        return ways(address, front, overviews, pages, has_docs=self.has_docs)


@functools.cache
def environment() -> Environment:
    """Returns the templates with the signs and the filters that they use."""
    environment = Environment(
        loader=PackageLoader("fedbench.leaderboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "at_least": written.AT_LEAST,
        "at_most": written.AT_MOST,
        "plus_minus": written.PLUS_MINUS,
        "best_mark": Markup(f'<span class="best-mark" aria-hidden="true">{written.BEST}</span>'),
    }
    environment.filters |= {
        "counted": written.counted,
        "seconds": written.seconds,
        "place": written.place,
        "percent": written.percent,
        "number": written.number,
        "size": written.size,
        "reached": written.reached,
        "breakable": breakable,
        "on_board": formats.on_board,
        "cost": formats.cost,
        "regret": formats.regret,
        "markdown": inline,
        "bar": bar,
        "estimate": lambda found: written.estimate(*found),
        "rows_at": rows_at,
        "shade": heatmap.shade,
        "knowing_nothing": mapped.knowing_nothing,
        "sign": verdicts.SIGNS.__getitem__,
        "tone": verdicts.TONES.__getitem__,
    }
    return environment


def breakable(selector: str) -> Markup:
    """Returns a selector as HTML that may wrap after `[`, `_` and commas, not inside a word."""
    return Markup("<wbr>").join(re.split(r"(?<=[\[,_])", selector))


def inline(text: str) -> Markup:
    """Returns a line of Markdown as HTML."""
    return Markup(PLAIN_MARKDOWN.renderInline(text))
