"""Adds the SHA-256 sums of a user's own data files to a scenario, so that a record says from which
data it has learned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fedbench import own_files, places

KEYS = ("file", "test")
"""Keys of a task that name a file."""


def with_sums(content: Mapping[str, object], where: str) -> Mapping[str, object]:
    """Returns the content of a scenario whose task has the sums of its files. Sums that it states
    stay as they are, and the files are then not looked for.

    A file is looked for beside the scenario's file `where`, in the working directory, and in the
    data root. The path of a file beside the scenario is recorded from the working directory.
    MissingDataError if a file is in none of these places.
    """
    task = content.get("task")
    if not isinstance(task, Mapping) or not isinstance(task.get("file"), str) or task.get("sha256"):
        return content
    named = {key: task[key] for key in KEYS if isinstance(task.get(key), str)}
    folder = Path(where).parent
    found = {key: places.found(name, f"task.{key}", [folder]) for key, name in named.items()}
    recorded = {key: places.as_recorded(name, folder) for key, name in named.items()}
    return {**content, "task": {**task, **recorded, "sha256": [own_files.sha256(path) for path in found.values()]}}
