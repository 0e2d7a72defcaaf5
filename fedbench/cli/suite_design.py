"""`fedbench suite design`, which draws the points of a suite over factors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench import plain_files
from fedbench.cli.output import print_table, say, show
from fedbench.errors import UsageError
from fedbench.results.store import write_atomically
from fedbench.suites.design import schema
from fedbench.suites.design.draw import STARTS, draw, with_drawn
from fedbench.suites.design.schema import CLIENTS, Design, Drawn

LARGEST = 1 << 20  # bytes of a design's file


def design(
    name: Annotated[str, typer.Argument(metavar="DESIGN", help="Design: a name, or a .yaml file.")],
    seed: Annotated[int | None, typer.Option("--seed", "-s", help="Draw points anew, with this seed.", min=0)] = None,
    starts: Annotated[
        int, typer.Option("--starts", help="Random starts, of which the best counts.", min=1, max=100_000)
    ] = STARTS,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File of the design with its points. Default: DESIGN.")
    ] = None,
) -> None:
    """Draw the points of a suite over factors.

    Prints how well they tell effects apart. The points are D-optimal for main effects, squares and
    the interactions that the design names. Further points are held out, to check predictions. The
    same seed draws the same points on every machine. Without --seed the points in the file are
    described.
    """
    found, file = schema.load(name), schema.file_of(name)
    if seed is None:
        if found.drawn is None:
            raise UsageError(f"design {found.name}: it has no points yet; --seed draws them")
        _show(found, found.drawn)
        return
    place = output or (file if name.endswith((".yaml", ".yml")) else Path(file.name))
    drawn = draw(found, seed, starts)
    _show(found, drawn)
    text = plain_files.content(file, LARGEST, "design").decode()
    command = f"fedbench suite design {file.name} --seed {seed} --starts {starts}"
    write_atomically(place, with_drawn(text, found, drawn, command).encode())
    show(f"{sum(map(len, (drawn.design, drawn.held_out, drawn.other_clients)))} points -> {place}")


def _show(found: Design, drawn: Drawn) -> None:
    figures = drawn.figures
    several = [*found.factors.items(), *([(CLIENTS, found.other_clients)] if found.other_clients is not None else [])]
    rows = [
        (key, factor.unit, ", ".join(one if isinstance(one, str) else f"{one:g}" for one in factor.values))
        for key, factor in several
    ]
    print_table(
        f"design {found.name}, drawn with seed {drawn.seed} and {drawn.starts} starts", ("factor", "unit", "levels"), rows
    )
    say(
        f"\n{len(drawn.design)} points for {figures.effects} effects, {len(drawn.held_out)} held out, {len(drawn.other_clients)} with "
        "other numbers of clients"
    )
    say(f"D-efficiency at least {figures.d_efficiency}; 1 is the most that any weights on the possible points give")
    say(f"condition number {figures.condition}, of columns scaled to length 1")
    say(f"largest variance inflation {figures.variance_inflation}, of {figures.inflated}")
    say(f"largest correlation of two terms {figures.aliasing}, of {' and '.join(figures.aliased)}")
    for term, columns in figures.left_out.items():
        say(f"{term}: impossible points leave no room for {columns} of its effects")
