"""Finds out why the results of a paper have their verdicts, and counts equal reasons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from fedbench import written
from fedbench.documents.paper import VERDICTS, Cell, Paper, Verdict
from fedbench.leaderboard.verdicts import MEASURED


def reasons(paper: Paper) -> list[tuple[Verdict, int, str]]:
    """Returns the verdicts on the results of a paper, each with its reasons and how many cells have
    them. Reproduced ones need no reason."""
    cells = [cell for table in paper.tables if table.kind == "runs" for cell in table.cells if cell.verdict != "reproduced"]
    counts = Counter((cell.verdict, _why(cell)) for cell in cells)
    return [
        (word, count, why) for (word, why), count in sorted(counts.items(), key=lambda one: (VERDICTS.index(one[0][0]), -one[1]))
    ]


def of_bare(cells: Sequence[Cell]) -> str:
    """Returns why cells are not run, as sentences. Of several reasons each has the number of its
    cells."""
    counts = Counter(cell.why for cell in cells)
    return " ".join(f"{why.removesuffix('.')} ({count})." if len(counts) > 1 else why for why, count in counts.items())


def _why(cell: Cell) -> str:
    """Returns the reason of a cell's verdict, without the numbers of the cell."""
    if cell.verdict not in MEASURED:
        return _first_sentence(cell.why)
    if cell.verdict == "not decided":
        return (
            "One seed lies outside of the band, and has no interval."
            if len(cell.seeds) == 1
            else "The interval reaches into the band."
        )
    if cell.verdict == "close":
        if cell.guesses:
            return "The mean lies in the band, but something that is not printed had to be guessed."
        return "The mean lies in the band, but the interval reaches beyond it, or there are too few seeds."
    lost = "No seed reaches the target." if cell.ours == "diverged" or cell.ours.startswith(written.BEYOND) else ""
    guessed = "Contradicted together with our guess of what is not printed." if cell.guesses else ""
    return f"{lost} {guessed}".strip() or "The whole interval lies outside of the band."


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.]) ", text, maxsplit=1)[0]
