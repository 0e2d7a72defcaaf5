"""The order in which two cores run what is declared, and how many core hours of its limit are
spent."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fedbench import plain_files
from fedbench.papers.parts import Text
from fedbench.results import archive
from fedbench.scenarios.base import Float, Part, PositiveFloat
from fedbench.scenarios.problems import validated

FILE = Path(__file__).with_name("queue.yaml")
Hours = Annotated[Float, Field(ge=0, le=1e6)]


class Queued(Part):
    """A command with its price in core hours of the reference machine. It is left out where
    `only_if` does not hold."""

    run: Text
    price: PositiveFloat
    only_if: Text = ""


class Queue(Part):
    """The content of queue.yaml.

    `core_hours` is the limit. `before` are the core hours of the records that were committed when
    the queue began, and `unrecorded` those of later ones that their wall times lack.
    """

    schema_version: Literal[1] = Field(alias="schema")
    core_hours: PositiveFloat
    before: Hours
    unrecorded: Hours
    queue: tuple[Queued, ...]


@functools.cache
def load() -> Queue:
    """Returns the queue. Raises UsageError if the file has not its form."""
    return validated(Queue, plain_files.mapping(FILE, "queue"), FILE.name)


def spent(archives: Path) -> float:
    """Returns the core hours that runs of the queue took, by the wall times in the committed
    records of a folder. Each run had one process."""
    places = [place for place in sorted(archives.iterdir()) if archive.is_archive(place)]
    walls = [record.provenance.wall_seconds or 0.0 for place in places for record in archive.read(place)]
    return math.fsum(walls) / 3600 - load().before + load().unrecorded
