"""Watchers that are named as KIND:WHERE, on the command line and in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from fedbench.errors import UsageError, nearest
from fedbench.launch.watch import Watcher
from fedbench.launch.watchers.lines import Csv
from fedbench.launch.watchers.trackers import Mlflow, TensorBoard, Wandb

KINDS: dict[str, tuple[str, Callable[[str], Watcher]]] = {
    "csv": ("FILE", Csv),
    "mlflow": ("URI_OR_DIR", Mlflow),
    "tensorboard": ("DIR", TensorBoard),
    "wandb": ("PROJECT", Wandb),
}
"""Where each kind of watcher writes to, and what makes it."""


def named(text: str) -> Watcher:
    """Returns the watcher with this name. Raises UsageError for an unknown kind, a place that is
    missing or cannot be written to, or a package that is not installed."""
    kind, _, where = text.partition(":")
    if kind not in KINDS:
        forms = ", ".join(f"{one}:{place}" for one, (place, _) in KINDS.items())
        raise UsageError(f"watch {text!r:.80}: expected one of {forms}{nearest(kind, KINDS)}")
    place, make = KINDS[kind]
    if not where.strip():
        raise UsageError(f"watch {text!r:.80}: expected {kind}:{place}, got no {place}")
    try:
        return make(where)
    except OSError as error:
        raise UsageError(f"watch {text!r:.300}: {error.strerror or error}") from None


def made(given: Watcher | str | Sequence[Watcher | str]) -> list[Watcher]:
    """Returns the watchers that were given, made of their names where they have one. Raises
    UsageError as `named` does, for what is no watcher, and for one that is given twice."""
    several = [given] if isinstance(given, Watcher | str) else list(given)
    for one in several:
        if not isinstance(one, Watcher | str):
            raise UsageError(f"watch: expected a fedbench.Watcher or a name such as csv:points.csv, got {one!r:.80}")
    twice = [name for name, times in Counter(one for one in several if isinstance(one, str)).items() if times > 1]
    if twice:
        raise UsageError(f"watch {twice[0]!r:.80}: expected once, got it {several.count(twice[0])} times")
    found: list[Watcher] = []
    try:
        for one in several:
            found.append(named(one) if isinstance(one, str) else one)
    except UsageError:
        for one in found:
            if one not in several:  # what was made here is closed here
                one.on_close()
        raise
    return found
