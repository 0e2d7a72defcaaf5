"""How a verb that computes for a long time ends when it is interrupted."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from fedbench.cli.output import show
from fedbench.errors import FedbenchError


class Interrupted(FedbenchError):
    """Ctrl-C ended a verb that says nothing of its own about it."""

    exit_code = 130


class Verbs(TyperGroup):
    """The verbs of the command line, each of which ends with one line after Ctrl-C."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted("interrupted") from None


@contextlib.contextmanager
def interruptible(then: str) -> Iterator[None]:
    """Ends the program with exit code 130 after Ctrl-C or SIGTERM; the runs leave checkpoints.

    SIGTERM is answered as Ctrl-C is, because a shell that puts a program into the background has it
    ignore Ctrl-C. `then` is shown to the user: it says how the missing runs are continued.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        show(f"interrupted; finished runs are stored, {then}")
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)
