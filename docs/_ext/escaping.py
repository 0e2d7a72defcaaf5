"""Text of the code as Markdown."""

from __future__ import annotations

import re


def escaped(text: str) -> str:
    """Text in which nothing but code between backticks is markup."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<*_\[\]{}$])", r"\\\1", part) for part in parts)
