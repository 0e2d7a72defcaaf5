"""Breaks names into lines, so that no text of a figure is wider than the place that it has."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from fedbench.figures.style import MILLIMETRES, STYLE

POINTS = 72.0  # in an inch
SPACING = 1.4  # from a line to the next, over the size of its letters


@functools.cache
def width(text: str, size: float) -> float:
    """Returns how many millimetres wide a line of letters of `size` points is."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    letters = FontProperties(family=STYLE["font.sans-serif"], size=size)
    found, _, _ = text_to_path.get_text_width_height_descent(text, letters, ismath=False)
    return float(found) / POINTS * MILLIMETRES


def fitted(text: str, most: float, size: float) -> str:
    """Returns a text in lines of at most `most` millimetres.

    Lines end behind spaces, brackets and commas, as those of a selector do. A part that is too wide
    alone is cut where it has to be.
    """
    lines = [""]
    for part in re.findall(r"[^\s\[,]+[\s\[,]*|[\s\[,]+", text):
        if lines[-1] and width((lines[-1] + part).rstrip(), size) > most:
            lines.append("")
        for letter in part:
            if lines[-1] and letter != " " and width(lines[-1] + letter, size) > most:
                lines.append("")
            lines[-1] += letter
    return "\n".join(line.rstrip() for line in lines)


def widest(texts: Iterable[str], size: float) -> float:
    """Returns the millimetres of the widest line of some texts."""
    return max((width(line, size) for text in texts for line in text.split("\n")), default=0.0)


def height(texts: Iterable[str], size: float) -> float:
    """Returns the millimetres that the highest of some texts needs beyond those of one line."""
    most = max((text.count("\n") for text in texts), default=0)
    return most * SPACING * size / POINTS * MILLIMETRES
