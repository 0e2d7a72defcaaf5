"""`fedbench rules`."""

from __future__ import annotations

from fedbench import rules
from fedbench.cli.output import put


def command() -> None:
    """Print the rules of suites.

    They say what a valid row is, and what voids one. The text is Markdown.
    """
    put(rules.TEXT.removesuffix("\n"))
