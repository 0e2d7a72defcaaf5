"""Draws the points of a design, and writes them into its file."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from fedbench.errors import UsageError
from fedbench.suites.design.exchange import d_optimal, generator, shuffled
from fedbench.suites.design.figures import figures
from fedbench.suites.design.model import Model, Rows
from fedbench.suites.design.schema import CLIENTS, KINDS, Cell, Design, Drawn, Value

STARTS = 100
KEY = "drawn:"
HELD_OUT, OTHER_CLIENTS = 1, 2  # streams of random numbers; that of the exchange is 0


def draw(design: Design, seed: int, starts: int = STARTS) -> Drawn:
    """Returns the points of a design, a function of the design, the seed and the number of starts.

    The points of the design are D-optimal, as far as so many starts find them. Those that are held
    out are drawn uniformly from the other possible points. Those with other numbers of clients are
    drawn uniformly, as many for each number as for another, or one more for the first ones.
    UsageError if there are too few possible points.
    """
    model = Model(design)
    rows = d_optimal(model, design.points.design, seed, starts)
    free = np.setdiff1d(model.candidates, rows)
    held_out = shuffled(generator(seed, HELD_OUT), _enough(free, design.points.held_out, design, "held_out"))
    return Drawn(
        seed=seed,
        starts=starts,
        figures=figures(model, rows),
        design=tuple(_cells(design, rows)),
        held_out=tuple(_cells(design, np.sort(held_out[: design.points.held_out]))),
        other_clients=tuple(_with_other_clients(design, seed)),
    )


def _with_other_clients(design: Design, seed: int) -> list[Cell]:
    if design.other_clients is None:
        return []
    rng, values, size = generator(seed, OTHER_CLIENTS), design.other_clients.values, design.points.other_clients
    found: list[Cell] = []
    for place, value in enumerate(values):
        count = len(range(place, size, len(values)))
        candidates = np.flatnonzero(design.possible({CLIENTS: value}))
        rows = shuffled(rng, _enough(candidates, count, design, f"other_clients, {value:g}"))[:count]
        found += [(value, *cell) for cell in _cells(design, np.sort(rows))]
    return found


def _enough(candidates: Rows, size: int, design: Design, kind: str) -> Rows:
    if len(candidates) < size:
        raise UsageError(
            f"design {design.name}: points of {kind}: expected at most the {len(candidates)} possible ones, got {size}"
        )
    return candidates


def _cells(design: Design, rows: Rows) -> list[Cell]:
    """Returns the levels of points that are given as numbers of combinations."""
    values: Sequence[list[Value]] = [factor.values for factor in design.factors.values()]
    places = np.unravel_index(rows, [len(several) for several in values])
    return [tuple(several[i] for several, i in zip(values, row, strict=True)) for row in np.transpose(places).tolist()]


def with_drawn(text: str, design: Design, drawn: Drawn, command: str) -> str:
    """Returns the text of a design's file with these points in the place of those that it had. All
    that stands before them stays as it is."""
    lines = text.splitlines(keepends=True)
    head = "".join(lines[: next((i for i, line in enumerate(lines) if line.startswith(KEY)), len(lines))])
    tail = [f"{KEY}  # from here on written by `{command}`", f"  seed: {drawn.seed}", f"  starts: {drawn.starts}", "  figures:"]
    tail += [f"    {key}: {json.dumps(value)}" for key, value in drawn.figures.model_dump(mode="json").items()]
    for kind in KINDS:
        rows = getattr(drawn, kind)
        tail.append(f"  {kind}:  # {', '.join(design.order(kind))}" if rows else f"  {kind}: []")
        tail += [f"    - [{', '.join(one if isinstance(one, str) else f'{one:g}' for one in row)}]" for row in rows]
    return head.rstrip("\n") + "\n" + "\n".join(tail) + "\n"
