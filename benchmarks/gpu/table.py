"""Prints what the parts found, and writes it as Markdown. Exits with 1 unless all parts are ok or
want a card that is not there."""

from __future__ import annotations

import json
import re
import sys

from benchmarks.gpu.rows import DRY, OUT, ROWS

FINE = ("ok", "skipped: no card")


def lines_of(heads: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    """Returns a table."""
    cells = [list(heads), ["---"] * len(heads), *rows]
    return ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in cells]


def main() -> int:
    log = OUT / "environment.log"
    told = log.read_text().splitlines() if log.exists() else []
    card = "no card: a dry run, whose times say nothing" if DRY else told[0] if told else "unknown card"
    parts = [line.split("\t") for line in (OUT / "parts.tsv").read_text().splitlines()]
    rows = [list(json.loads(line).values()) for line in ROWS.read_text().splitlines()]
    page = [
        f"# {card}",
        "",
        *(f"- {line}" for line in told if line != card),
        "",
        *lines_of(("part", "what", "measured", "floor or limit", "others"), rows),
        "",
        *lines_of(("part", "status", "seconds", "its last line"), parts),
    ]
    text = "\n".join(page) + "\n"
    name = "dry" if DRY else re.sub(r"[^a-z0-9]+", "-", card.split(",")[0].lower()).strip("-")
    (OUT / f"{name}.md").write_text(text)
    print(text)
    print(f"written to {OUT / name}.md" + ("" if DRY else f"; a table to keep goes into results/gpu/{name}.md"))
    return int(not all(status in FINE for _, status, *_ in parts))


if __name__ == "__main__":
    sys.exit(main())
