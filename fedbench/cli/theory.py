"""`fedbench theory`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench.cli.output import out, print_json
from fedbench.cli.plan import JsonOption

if TYPE_CHECKING:
    from fedbench.proof.theory.rows import Row


def command(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds and updates, no orders.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Draw bounds and orders into this file (.png or .svg).")] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what the papers prove; this takes minutes.

    Exact bounds, orders with intervals, limits in closed form, laws of the engine.

    Exit 1 if something does not hold. Example: fedbench theory --picture theory.png
    """
    from fedbench.proof.theory.picture import draw  # the other verbs start faster without it
    from fedbench.proof.theory.table import rows

    found = []
    for row in rows(quick=quick):
        found.append(row)
        if as_json:
            print_json(row.as_dict())
        else:
            out.print(line(row), markup=False, soft_wrap=True)
    broken = sum(not row.holds for row in found)
    if picture is not None:
        draw(found, picture)
    if not as_json:
        out.print(f"{len(found)} checks, {f'{broken} do not hold' if broken else 'all hold'}", markup=False)
    if broken:
        raise typer.Exit(1)


def line(row: Row) -> str:
    """verdict, check, source, and measured against expected in the kind's own terms."""
    if row.kind == "bound":
        numbers = f"{row.measured:.3g} <= {row.expected:.3g}, {row.measured / row.expected:.0%} of the bound"
    elif row.kind == "slope":
        numbers = f"exponent {row.measured:.3f} in [{row.low:.3f}, {row.high:.3f}], expected {row.expected:g} +- {row.allowed:g}"
    else:
        numbers = f"{row.measured:.4g}, expected {row.expected:.4g}" + (f" +- {row.allowed:.1g}" if row.allowed else "")
    return f"{'holds' if row.holds else 'FAILS'}  {row.check:<62} {numbers}  ({row.source})"
