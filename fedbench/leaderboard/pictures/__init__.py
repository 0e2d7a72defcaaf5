"""Draws pictures as inline SVG, without a drawing library. Colours come from the style sheet, so
that they follow the light or dark scheme. Here is what several pictures have in common."""

from __future__ import annotations

from markupsafe import Markup, escape


def image(kind: str, size: tuple[int, int], told: str, inside: str) -> Markup:
    """Returns an SVG element.

    Args:
        kind: its class in style.css.
        size: its width and height in pixels, which are also the units inside.
        told: what a screen reader says of it, as plain text.
        inside: its content, in which all texts are escaped already.
    """
    width, height = size
    head = f'<svg class="{kind}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
    return Markup(f'{head}aria-label="{escape(told)}">{inside}</svg>')
