"""Sets how all figures look: their sizes, letters, and colours that the colour-blind can tell
apart. Also writes their files, so that the same figure always gives the same bytes."""

from __future__ import annotations

import functools
import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from fedbench import extras
from fedbench.errors import UsageError, nearest
from fedbench.results.store import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTHS = {"column": 85.0, "page": 175.0}
"""Widths in millimetres: one of two columns, and the whole page."""
NARROWEST, WIDEST = 40.0, 500.0  # mm
MILLIMETRES = 25.4  # in an inch
PAD = 0.03  # inches around everything
SIDE_LEGEND = 120.0  # mm; a narrower figure has its legend below
SUFFIXES = (".pdf", ".svg", ".png")
MOST_BOLD = 8
INK, FAINT, CONTEXT = "#222222", "#dddddd", "#c4c4c4"
STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib, so all machines draw the same
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "xtick.labelsize": 6,
    "ytick.labelsize": 6,
    "legend.fontsize": 6,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "axes.linewidth": 0.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.4,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    "hatch.linewidth": 0.4,
    "pdf.fonttype": 42,  # TrueType: journals refuse the Type 3 fonts that matplotlib writes otherwise
    "svg.fonttype": "none",  # letters stay letters
    "svg.hashsalt": "fedbench",
}


@dataclass(frozen=True)
class Look:
    """How a bold line is drawn: its colour, dashes and marker."""

    colour: str
    dashes: Any
    marker: str


LOOKS = (
    Look("#0072B2", "-", "o"),
    Look("#D55E00", (0, (5, 1.5)), "s"),
    Look("#009E73", (0, (1.2, 1.2)), "^"),
    Look("#000000", (0, (6, 1.5, 1.2, 1.5)), "D"),
    Look("#CC79A7", "-", "v"),
    Look("#E69F00", (0, (5, 1.5)), "P"),
    Look("#56B4E9", (0, (1.2, 1.2)), "X"),
    Look("#8C7A00", (0, (6, 1.5, 1.2, 1.5)), "*"),
)
"""The looks of bold lines, in this order. Their colours are those of Okabe and Ito 2008 with a
darker yellow, since a thin line in theirs cannot be seen on white."""


def looks(bold: Sequence[str]) -> dict[str, Look]:
    """Returns how each bold row looks. Raises UsageError if there are more rows than looks."""
    if len(bold) > MOST_BOLD:
        raise UsageError(f"figure: at most {MOST_BOLD} rows are bold, got {len(bold)}: {', '.join(bold)}")
    return dict(zip(bold, LOOKS, strict=False))


@dataclass(frozen=True)
class Drawn:
    """A figure, and the caption that it needs. A notebook shows both."""

    figure: Figure
    caption: str

    def content(self, kind: str) -> bytes:
        """Returns the figure as a file of a kind, `pdf`, `svg` or `png`, which has the same bytes
        for the same figure."""
        import matplotlib as mpl

        undated: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}[kind]
        content = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.figure.savefig(content, format=kind, dpi=300, metadata=undated)
        return content.getvalue()

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the picture, and the caption below it."""
        svg = self.content("svg").decode()
        picture = svg[svg.index("<svg") :]
        return f"<figure>{picture}<figcaption>{html.escape(self.caption)}</figcaption></figure>"


Given = ParamSpec("Given")


def styled(draw: Callable[Given, Drawn]) -> Callable[Given, Drawn]:
    """Returns the function `draw` in the style of all figures, whatever the settings of matplotlib
    are."""

    @functools.wraps(draw)
    def in_style(*args: Given.args, **more: Given.kwargs) -> Drawn:
        extras.require("plot", "a figure")
        import matplotlib as mpl

        with mpl.rc_context(STYLE):
            return draw(*args, **more)

    return in_style


def width_of(text: str) -> float:
    """Returns the millimetres that `column`, `page` or a number stands for. Raises UsageError for
    another text, and for a width that is out of range."""
    if text in WIDTHS:
        return WIDTHS[text]
    try:
        found = float(text)
    except ValueError:
        raise UsageError(f"figure: width must be a number of mm or one of {', '.join(WIDTHS)}, got {text!r}") from None
    if not NARROWEST <= found <= WIDEST:
        raise UsageError(f"figure: width must be from {NARROWEST:g} to {WIDEST:g} mm, got {text}")
    return found


def canvas(width: float, height: float, rows: int = 1, columns: int = 1, **more: Any) -> tuple[Figure, list[Axes]]:
    """Returns an empty figure of a size in millimetres, and its axes row by row. `more` goes to
    `Figure.subplots`."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=PAD, h_pad=PAD)
    figure = Figure(figsize=(width / MILLIMETRES, height / MILLIMETRES), layout=layout)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **more).flat)


def check_file(file: Path, others: Sequence[str] = ()) -> None:
    """Raises UsageError unless a figure can be written into a file of this name. `others` are more
    suffixes that are allowed."""
    known = (*SUFFIXES, *others)
    if file.suffix.lower() not in known:
        names = [one[1:] for one in known]
        raise UsageError(
            f"figure {file}: expected a file that ends in {', '.join(known)}, got {file.suffix or 'no suffix'!r}"
            f"{nearest(file.suffix[1:].lower(), names) if file.suffix else ''}"
        )


def write(drawn: Drawn, file: Path) -> None:
    """Writes a figure as PDF, SVG or PNG, as the file's suffix says. Missing folders are made, and
    the file is replaced in one step. The same figure gives the same bytes."""
    check_file(file)
    write_atomically(file, drawn.content(file.suffix[1:].lower()))
