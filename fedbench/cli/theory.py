"""`fedbench theory`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbench import extras
from fedbench.cli import completion
from fedbench.cli.options import JsonOption
from fedbench.cli.output import print_json, say, writing
from fedbench.errors import UsageError
from fedbench.written import counted

if TYPE_CHECKING:
    from fedbench.proof.theory.rows import Claim, Row


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Claims to check. Default: all.", metavar="CLAIM", autocompletion=completion.claims),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Check only the claims that take a few seconds.")] = False,
    picture: Annotated[Path | None, typer.Option(help="File (.png or .svg) for a picture with a panel for each claim.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check theorems of the papers by measurement.

    The claims are exact moments, bounds, orders of convergence with intervals, limits in closed
    form, and laws of schedules. Each names its theorem. All of them take minutes. The exit code is
    1 if a line of a claim does not hold.
    """
    from fedbench.proof.theory.picture import draw  # the other verbs start faster without it
    from fedbench.proof.theory.table import chosen, rows

    claims = chosen(names or (), quick=quick)
    if picture is not None and picture.suffix not in (".png", ".svg"):
        raise UsageError(f"theory: --picture must end in .png or .svg, got {picture}")
    if picture is not None:
        extras.require("plot", "theory --picture")
    found: list[tuple[Claim, Row]] = []
    for claim, row in rows(claims):
        if not as_json and (not found or found[-1][0] is not claim):
            say(heading(claim))
        found.append((claim, row))
        if as_json:
            print_json({"claim": claim.name, "source": claim.source, **row.as_dict()})
        else:
            say(line(row))
    broken = sum(not row.holds for _, row in found)
    if picture is not None:
        with writing("theory", picture, "--picture"):
            draw(found, picture)
    if not as_json:
        verdict = f"{broken} of them fail{'s' * (broken == 1)}" if broken else "all hold"
        say(f"{counted(len(claims), 'claim')}, {counted(len(found), 'line')}, {verdict}")
    if broken:
        raise typer.Exit(1)


def heading(claim: Claim) -> str:
    """Returns the claim's name, what it says, and who proved it."""
    return f"{claim.name}: {claim.says} ({claim.source})"


def line(row: Row) -> str:
    """Returns the verdict, the check, and the measured and the expected number as the row's kind
    compares them."""
    interval = f" in [{row.low:.3f}, {row.high:.3f}]" if row.low is not None and row.low != row.high else ""
    if row.kind == "bound":
        parts = ", ".join(f"{name} {share:.0%}" for name, share in row.shares)
        numbers = f"{row.measured:.3g} <= {row.expected:.3g}" + (f"; the bound is {parts}" if parts else "")
    elif row.kind == "slope":
        side = " of a decrease" if row.sign < 0 else ""
        numbers = f"{row.measured:.3f}{side}{interval}, proven {row.expected:g}, allowed +- {row.allowed:g}"
    elif row.kind == "exact":
        numbers = f"{row.measured:.3f}{interval}, expected 1, allowed +- {row.allowed:g}"
    else:
        numbers = f"{row.measured:.4g}, expected {row.expected:.4g}, allowed +- {row.allowed:.1g}"
    return f"  {'holds' if row.holds else 'FAILS'}  {row.check:<70} {numbers}"
