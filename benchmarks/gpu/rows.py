"""The rows of the table, which the parts of this check write one by one."""

from __future__ import annotations

import json
import os
from pathlib import Path

DRY = bool(os.environ.get("DRY"))
OUT = Path(os.environ["OUT"])
ROWS = OUT / "rows.jsonl"


def row(part: str, what: str, measured: str, floor: str = "", others: str = "") -> None:
    """Adds a row of the table, at once: what is measured is kept when the part is cut short."""
    cells = {"part": part, "what": what, "measured": measured, "floor": floor, "others": others}
    with ROWS.open("a") as file:
        file.write(json.dumps(cells) + "\n")
    print(" | ".join(cells.values()), flush=True)
