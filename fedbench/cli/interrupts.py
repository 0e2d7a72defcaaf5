"""How a verb that computes for a long time ends when it is interrupted."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

import typer

from fedbench.cli.output import show


@contextlib.contextmanager
def interruptible(then: str) -> Iterator[None]:
    """Ends the program with exit code 130 after Ctrl-C or SIGTERM; runs into a store leave
    checkpoints.

    SIGTERM is answered as Ctrl-C is, because a shell that puts a program into the background has it
    ignore Ctrl-C. `then` is shown to the user: it says what is kept, and how the missing runs are
    continued.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        show(f"interrupted; {then}")
        raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGTERM, before)
