"""The command line `fedbench`. Exit codes: 0 for success, 1 if a check failed, 2 for wrong use."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
import traceback
from typing import Annotated, Any

import typer

import fedbench
from fedbench import foreign
from fedbench.cli.examples import EXAMPLES, FIRST
from fedbench.cli.output import say, show_error
from fedbench.cli.verbs import Verbs, made
from fedbench.errors import FedbenchError, shown_on_one_line

WRONG_WORDS: Any = typer.BadParameter.__mro__[1]
"""What typer raises for an unknown verb or option, or a value of the wrong kind."""
NO_WORDS: Any = sys.modules[WRONG_WORDS.__module__].NoArgsIsHelpError
"""What it raises where a verb is missing."""

NEW_OBJECTS = 100_000
"""After so many a search for cycles begins. Python's 700 has it look through the trees of thousands
of records again and again, which takes a third of the time of reading them."""

app = made(
    name="fedbench",
    cls=Verbs,
    help="Run federated-learning algorithms in the same simulated federation, and compare them.",
    no_args_is_help=True,
    epilog=EXAMPLES[FIRST].help,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"fedbench {fedbench.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Options before a verb."""


def main() -> None:
    """Runs the command line and ends the program.

    Errors of the user, of a plugin and of the machine (such as a full disk) become a message and an
    exit code. Only a mistake in fedbench itself shows a traceback.
    """
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")  # a shell may have closed it
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may hold what the terminal's encoding lacks
    gc.set_threshold(NEW_OBJECTS)
    code = _exit_code()
    if code:
        _forget_output()
    gc.freeze()  # or the interpreter would look through all of them once more before it ends
    sys.exit(code)


def _exit_code() -> int | str | None:
    """Runs the verb, shows its error if there is one, and returns the exit code."""
    try:
        try:
            # also under `python -m`: completion asks for the program by this name
            code: int | None = app(prog_name="fedbench", standalone_mode=False)
        finally:
            sys.stdout.flush()  # a failure here is shown like any other error; at the interpreter's end it would not be
    except SystemExit as end:
        if not _ended_by_plugin(end):
            return end.code
        error: FedbenchError = foreign.ended(end)
    except FedbenchError as own:
        error = own
    except NO_WORDS as wrong:  # its message is the help
        wrong.show()
        return int(wrong.exit_code)
    except WRONG_WORDS as wrong:
        given = [f"{one['input']!r:.80}" for one in getattr(wrong.__cause__, "errors", list)()]  # newer typer leaves it out
        wrong.message = shown_on_one_line(", got ".join([str(wrong.message), *given]))
        wrong.show()
        return int(wrong.exit_code)
    except BrokenPipeError:  # the reader of our output has gone, so nobody would see a message
        return 1
    except BaseException as other:
        if isinstance(other, KeyboardInterrupt) or not (isinstance(other, foreign.REFUSED) or foreign.is_foreign(other)):
            raise
        error = FedbenchError(*foreign.told(other))
    else:
        return code
    show_error(error)
    return error.exit_code


def _ended_by_plugin(end: SystemExit) -> bool:
    """Returns whether code of a plugin ended the program.

    The command line itself ends in typer, click or fedbench, for which the slower question whose
    code it is needs no answer.
    """
    *_, (last, _) = traceback.walk_tb(end.__traceback__)
    return last.f_globals.get("__name__", "").partition(".")[0] not in ("typer", "click", "fedbench") and foreign.is_foreign(end)


def _forget_output() -> None:
    """Points standard output at the null device, so that the interpreter does not try again at its
    end to write what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
