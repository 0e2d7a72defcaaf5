"""The rules of suites, which say what a valid row is and what voids one. `docs/rules.md` is a copy
for readers of the repository."""

from __future__ import annotations

import re
from pathlib import Path

TEXT = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
"""The rules in Markdown."""

VERSION = int(re.search(r"^Version (\d+)\.", TEXT, re.MULTILINE)[1])  # type: ignore[index]
"""The version that the text names. A change of the rules that can change a row makes a new
version."""
