"""Makes the pictures of printed numbers against ours, one for each table with measured numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fedbench.analysis.pictures.agreement import Agreement, Panel, Point, told
from fedbench.documents.paper import Picture
from fedbench.leaderboard.verdicts import MEASURED
from fedbench.papers import experiment
from fedbench.papers.judging import interval_of
from fedbench.papers.reading import step
from fedbench.papers.rules import HIGH, LOW
from fedbench.papers.verdicts import Verdict

UNITS = {"seconds_to_target": "virtual seconds", "rounds_to_target": "rounds"}


def picture(verdicts: Sequence[Verdict]) -> Picture | None:
    """Returns the picture of a table, given the verdicts on its cells. None if none of its times
    was measured."""
    measured = [one for one in verdicts if one.word in MEASURED and one.readings and not one.cell.is_accuracy]
    if not measured:
        return None
    table = experiment.table(measured[0].cell)
    panels: dict[str, list[Point]] = {}
    for one in measured:
        panels.setdefault(str(one.cell.known.get(table.panels, "")), []).append(_point(one, table.orders))
    unit = UNITS[experiment.required_how(measured[0].cell).read]
    data = Agreement(unit, LOW, HIGH, tuple(Panel(title, tuple(points)) for title, points in panels.items()))
    return Picture(about=told(data), file=f"{verdicts[0].cell.of.replace(':', '-').lower()}-printed-and-ours.svg", data=data)


def _point(one: Verdict, rows: str) -> Point:
    found = interval_of(list(one.readings.values()), step(one.cell))
    low, high = (None, None) if found.half_width is None else (found.low, found.high)
    is_bound = any(reading.missed for reading in one.readings.values())
    inside = not is_bound and LOW <= found.mean / one.cell.amount <= (math.inf if one.cell.censored else HIGH)
    row = str(one.cell.known[rows]).replace("_", " ")
    return Point(row, str(one.cell.number), one.cell.amount, found.mean, low, high, is_bound, inside)
