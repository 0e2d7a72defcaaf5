"""Who races, as a file in the store: the rows that reached the race with the options that they got,
and the rows that are out of it. It is written when the race begins, so that a run that fails at one
call and not at the next changes neither the rows nor what was decided of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import Field

from fedbench import plain_files
from fedbench.results.store import write_atomically
from fedbench.scenarios.base import Part
from fedbench.scenarios.problems import validated

FILE = "field.json"
LARGEST_FILE = 4 << 20
Text = Annotated[str, Field(max_length=10_000)]


class Started(Part, title="field of a race"):
    """rows: by selector that races, the row that it comes from.
    kept: by row of whose search a run failed, why; it races with its own options.
    out: by row that does not race, or not any more, why.
    """

    rows: dict[Text, Text]
    kept: dict[Text, Text] = Field(default={})
    out: dict[Text, Text] = Field(default={})


def read(folder: Path) -> Started | None:
    """Returns who races, None before the race begins. UsageError if the file cannot be read."""
    file = folder / FILE
    if not file.exists():
        return None
    return validated(Started, plain_files.json_mapping(file, LARGEST_FILE, "field of a race"), str(file))


def write(folder: Path, started: Started) -> None:
    """Writes the file in one step."""
    write_atomically(folder / FILE, (json.dumps(started.model_dump(mode="json"), indent=1) + "\n").encode())
