"""A scenario's own data: where the files are, and what is in them, so that a record says what was
learned from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedbench import places

KEYS = ("file", "test")
"""Keys of a task that name a file."""


def with_sums(content: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The content of a scenario whose task has the sums of its files: those that it states, or else
    those that are found.

    A file is looked for beside the scenario, in the working directory, and in the data root; what
    is beside the scenario is named from the working directory. MissingDataError if a file without a
    sum is in none of these places.
    """
    task = content.get("task")
    if not isinstance(task, Mapping) or not isinstance(task.get("file"), str) or task.get("sha256"):
        return content
    named = {key: task[key] for key in KEYS if isinstance(task.get(key), str)}
    folder = Path(where).parent
    found = {key: places.found(name, f"task.{key}", [folder]) for key, name in named.items()}
    recorded = {key: places.as_recorded(name, folder) for key, name in named.items()}
    return {**content, "task": {**task, **recorded, "sha256": [places.sha256(path) for path in found.values()]}}
