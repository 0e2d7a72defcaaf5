"""Checkpoints: everything a run has at an update boundary, in one file that is replaced atomically.

Values are packed as a tree: arrays go into the archive under numbers, the tree itself is JSON. Jobs trained ahead of their
update are not kept; they are computed again.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from fedbench.engine.evaluate import GridEvaluator
from fedbench.engine.execute import Execution
from fedbench.errors import RecordError
from fedbench.kernels import TeacherMean
from fedbench.results.store import write_atomically
from fedbench.tables import ClientTable
from fedbench.types import Message, State

FORMAT = 4
TABLES: dict[str, type[ClientTable | TeacherMean]] = {"table": ClientTable, "teacher": TeacherMean}


def pack(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """A JSON tree for `value`, whose arrays are added to `arrays`. Knows arrays, TABLES, numbers, text, lists and None."""
    if isinstance(value, np.ndarray):
        name = str(len(arrays))
        arrays[name] = value
        return {"array": name}
    for kind, table in TABLES.items():
        if isinstance(value, table):
            return {kind: {name: pack(part, arrays) for name, part in value.snapshot().items()}}
    if isinstance(value, list | tuple):
        return {"list": [pack(item, arrays) for item in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    raise TypeError(
        f"checkpoint: a State may hold arrays, ClientTables, a TeacherMean, numbers, text and lists of them, got {type(value).__name__}"
    )


def unpack(tree: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """The value behind a tree of `pack`; tuples come back as lists."""
    ((kind, content),) = tree.items()
    if kind == "array":
        return arrays[content]
    if kind in TABLES:
        return TABLES[kind].restore({name: unpack(item, arrays) for name, item in content.items()})
    return [unpack(item, arrays) for item in content] if kind == "list" else content


def save(path: Path, run_id: str, execution: Execution, evaluator: GridEvaluator) -> None:
    """Write the checkpoint of a run between two updates."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    tree = {
        "format": FORMAT,
        "run_id": run_id,
        "trainer": _computed(execution),
        "version": execution.version,
        "trained_steps": execution.trained_steps,
        "server_seconds": execution.server_seconds,
        "selections": execution.selections,
        "rows": evaluator.rows,
        "buffers": pack(execution.buffers, arrays),
        "state": {name: pack(value, arrays) for name, value in execution.state.items()},
        "messages": {
            str(version): {"buffers": pack(buffers, arrays), "named": {n: pack(v, arrays) for n, v in message.items()}}
            for version, (message, buffers) in execution.messages.items()
        },
    }
    content = io.BytesIO()
    np.savez(content, tree=np.frombuffer(json.dumps(tree).encode(), np.uint8), **{f"a{name}": a for name, a in arrays.items()})  # type: ignore[arg-type]
    write_atomically(path, content.getvalue())


def restore(path: Path, run_id: str, execution: Execution, evaluator: GridEvaluator) -> None:
    """Put a fresh execution and its evaluator where the checkpoint was taken. RecordError if the file is damaged, another run's, or of
    another trainer or device: a record is of one, and `verify` replays with it."""
    try:
        with np.load(path) as archive:
            tree = json.loads(archive["tree"].tobytes())
            arrays = {name[1:]: archive[name] for name in archive.files if name != "tree"}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise RecordError(f"checkpoint {path}: cannot be read ({error}); delete it to start the run again") from None
    if tree["format"] != FORMAT or tree["run_id"] != run_id:
        raise RecordError(
            f"checkpoint {path}: it belongs to run {tree['run_id']}, format {tree['format']}; expected {run_id}, {FORMAT}"
        )
    if tree["trainer"] != _computed(execution):
        raise RecordError(
            f"checkpoint {path}: it was computed by {tree['trainer']}, this run by {_computed(execution)}, whose bits are others; go on "
            f"as it began, or delete it"
        )
    execution.version, execution.trained_steps = tree["version"], tree["trained_steps"]
    execution.server_seconds, execution.selections = tree["server_seconds"], tree["selections"]
    execution.buffers = unpack(tree["buffers"], arrays)
    execution.state = State(**{name: unpack(item, arrays) for name, item in tree["state"].items()})
    execution.messages = {
        int(version): (
            Message(**{name: unpack(item, arrays) for name, item in kept["named"].items()}).frozen(),
            unpack(kept["buffers"], arrays),
        )
        for version, kept in tree["messages"].items()
    }
    evaluator.rows = tree["rows"]


def _computed(execution: Execution) -> str:
    return f"trainer {execution.trainer.name} on {execution.trainer.device}"


class Checkpointer:
    """Observer: saves at most every `every_seconds` of host time."""

    def __init__(self, path: Path, run_id: str, evaluator: GridEvaluator, every_seconds: float) -> None:
        self.path, self.run_id, self.evaluator, self.every_seconds = path, run_id, evaluator, every_seconds
        self._last = time.monotonic()

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None:
        pass

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None:
        if time.monotonic() - self._last >= self.every_seconds:
            self.save(execution)

    def save(self, execution: Execution) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        save(self.path, self.run_id, execution, self.evaluator)
        self._last = time.monotonic()
