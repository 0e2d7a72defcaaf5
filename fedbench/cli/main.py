"""`fedbench`: exit 0 ok, 1 a check failed, 2 used wrongly."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import fedbench
from fedbench import sources
from fedbench.cli import (
    applicability,
    bench,
    catalogue,
    conformance,
    doctor,
    info,
    leaderboard,
    listing,
    new,
    plan,
    run,
    test,
    theory,
    trace,
    verify,
)
from fedbench.cli.output import out, show_error
from fedbench.errors import FedbenchError, PluginError

app = typer.Typer(
    name="fedbench",
    help="Federated optimisation under heterogeneity: plan, run, verify, publish.",
    no_args_is_help=True,
    rich_markup_mode=None,  # help shows its texts as they stand: markup would take name[param=value,...] for a style
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        out.print(f"fedbench {fedbench.__version__}", markup=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Options before a verb."""


app.command("list")(listing.command)
app.command("info")(info.command)
app.command("catalogue")(catalogue.command)
app.command("plan")(plan.command)
app.command("applicability")(applicability.command)
app.command("run")(run.command)
app.command("verify")(verify.command)
app.command("test")(test.command)
app.command("theory")(theory.command)
app.command("trace")(trace.command)
app.command("conformance")(conformance.command)
app.command("bench")(bench.command)
app.command("doctor")(doctor.command)
app.add_typer(leaderboard.app, name="leaderboard")
app.add_typer(new.app, name="new")


def main() -> None:
    """Entry point: users' errors become one screen and an exit code, never a traceback; likewise those of a plugin."""
    try:
        app(prog_name="fedbench")  # whatever started it: completion asks for the program by this name
    except FedbenchError as error:
        show_error(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        if not sources.is_own(error):
            raise
        show_error(PluginError(sources.described(error)))
        sys.exit(PluginError.exit_code)
