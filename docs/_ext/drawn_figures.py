"""Shows the figures of an example in the gallery: every `Drawn` that a block leaves in a variable."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst

from fedbench.figures.style import Drawn


def scraper(block: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Writes the pictures of a block, each once, with its caption below."""
    shown = variables.setdefault("shown", set())
    text = ""
    for value in variables["example_globals"].values():
        if isinstance(value, Drawn) and id(value) not in shown:
            shown.add(id(value))
            path = next(variables["image_path_iterator"])
            value.figure.savefig(path, dpi=130)
            text += figure_rst([path], gallery["src_dir"], value.caption) + f"\n\n{value.caption}\n\n"
    return text
