"""`fedbench rules`."""

from __future__ import annotations

from fedbench import rules
from fedbench.cli.output import put


def command() -> None:
    """Print the rules for valid rows and their comparison.

    They also say what voids a row. The text is Markdown.
    """
    put(rules.TEXT.removesuffix("\n"))
