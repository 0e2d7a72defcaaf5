"""Saves and restores checkpoints: all that a run has between two updates, in one file. A new
checkpoint replaces the old file atomically.

    fedbench checkpoint 6\n | sha256 of the rest, 64 hexadecimal digits, \n | length of the JSON, 16 digits, \n | JSON | arrays

Values are packed as a tree. The arrays lie one after the other at the end of the file. The tree
itself is JSON and states their types and shapes, so the file's size bounds what a reader allocates.
Jobs trained ahead of their update are not saved; they are computed again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationError, field_validator

from fedbench import plain_files
from fedbench.engine.evaluate import GridEvaluator
from fedbench.engine.execute import Execution
from fedbench.engine.place import Place, on_host
from fedbench.errors import RecordError
from fedbench.kernels import TeacherMean
from fedbench.refusals import first_problem
from fedbench.results.sections import METRICS, Amount, Count, Section, Word
from fedbench.results.store import write_atomically
from fedbench.scenarios.evaluation_parts import MOST_OWN
from fedbench.tables import ClientTable
from fedbench.types import Array, Message, State, Vector
from fedbench.types.arrays import OnDevice, host, is_array

FORMAT, LARGEST = 6, 64 << 30  # of a file, in bytes
MAGIC = f"fedbench checkpoint {FORMAT}\n".encode()
TABLES: dict[str, type[ClientTable | TeacherMean]] = {"table": ClientTable, "teacher": TeacherMean}
Arrays = list[Array]

Node = Annotated[dict[Literal["array", "device", "table", "teacher", "list", "value"], object], Field(min_length=1, max_length=1)]


class _Array(Section):
    dtype: Literal["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
    shape: Annotated[list[Count], Field(max_length=8)]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


class _Message(Section):
    buffers: Node
    named: dict[Word, Node]


class _Tree(Section):
    run_id: Word
    trainer: Word
    version: Count
    trained_steps: Count
    server_seconds: Amount
    wall_seconds: Amount = 0.0
    selections: list[list[Annotated[int, Field(ge=0, lt=2**31)]]]
    rows: list[dict[Word, float]]
    buffers: Node
    state: dict[Word, Node]
    along: Node | None = None
    messages: dict[Annotated[str, Field(pattern=r"^\d{1,18}$")], _Message]
    arrays: list[_Array]

    @field_validator("rows")
    @classmethod
    def _whole(cls, rows: list[dict[str, float]]) -> list[dict[str, float]]:
        names = {"seconds", "version", *METRICS}
        if any(not names <= set(row) or len(row) > len(names) + MOST_OWN for row in rows):
            raise ValueError(f"expected {', '.join(sorted(names))} in every row")
        return rows


def pack(value: object, arrays: Arrays) -> dict[str, object]:
    """Returns a JSON tree for `value` and appends its arrays, on the host, to `arrays`. It knows
    arrays, the kinds of TABLES, numbers, text, lists and None; TypeError for anything else."""
    if is_array(value):
        arrays.append(host(value))
        return {"device" if isinstance(value, OnDevice) else "array": len(arrays) - 1}
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


def unpack(tree: dict[str, Any], arrays: Arrays, place: Place = on_host) -> Any:
    """Returns the value of a tree of `pack`, with lists for tuples; `place` takes what was on a
    device. Raises ValueError, KeyError, IndexError, TypeError or AttributeError for others."""
    ((kind, content),) = tree.items()
    if kind in ("array", "device"):
        return place(arrays[content]) if kind == "device" else arrays[content]
    if kind in TABLES:
        return TABLES[kind].restore({name: unpack(item, arrays, place) for name, item in content.items()})
    if kind == "list":
        return [unpack(item, arrays, place) for item in content]
    if kind != "value" or not (content is None or isinstance(content, bool | int | float | str)):
        raise ValueError(f"expected a number, text or nothing, got {content!r:.60}")
    return content


def save(path: Path, run_id: str, execution: Execution, evaluator: GridEvaluator) -> None:
    """Writes the checkpoint of a run that is between two updates."""
    arrays: Arrays = []
    tree = {
        "run_id": run_id,
        "trainer": _computed(execution),
        "version": execution.version,
        "trained_steps": execution.trained_steps,
        "server_seconds": execution.server_seconds,
        "wall_seconds": time.perf_counter() - execution.begun,
        "selections": execution.selections,
        "rows": evaluator.rows,
        "along": evaluator.along and pack(evaluator.along.content(), arrays),
        "buffers": pack(execution.buffers, arrays),
        "state": {name: pack(value, arrays) for name, value in execution.state.items()},
        "messages": {
            str(version): {"buffers": pack(buffers, arrays), "named": {n: pack(v, arrays) for n, v in message.items()}}
            for version, (message, buffers) in execution.messages.items()
        },
    }
    tree["arrays"] = [{"dtype": str(array.dtype), "shape": list(array.shape)} for array in arrays]
    write_atomically(path, *sealed(tree, arrays))


def sealed(tree: Mapping[str, object], arrays: Arrays) -> list[bytes | memoryview]:
    """Returns the content of a checkpoint's file in pieces, each bytes or a view of an array."""
    text = json.dumps(tree).encode()
    rest: list[bytes | memoryview] = [
        b"%016d\n" % len(text),
        text,
        *(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data.cast("B") for array in arrays),
    ]
    seal = hashlib.sha256()
    for piece in rest:
        seal.update(piece)
    return [MAGIC, seal.hexdigest().encode() + b"\n", *rest]


def opened(content: bytes) -> tuple[dict[str, Any], Arrays]:
    """Returns the tree, whose form is checked, and the arrays, which are writeable. Raises
    ValueError, saying what is wrong, if the content is not that of a checkpoint."""
    if not content.startswith(MAGIC):
        raise ValueError(f"it does not begin with {MAGIC.decode().strip()!r}")
    seal, rest = content[len(MAGIC) : len(MAGIC) + 65], memoryview(content)[len(MAGIC) + 65 :]
    if hashlib.sha256(rest).hexdigest().encode() + b"\n" != seal:
        raise ValueError("its checksum does not fit its content: it is truncated or was changed")
    end = 17 + int(rest[:16].tobytes())
    tree = _Tree.model_validate(json.loads(rest[17:end].tobytes()))
    if sum(array.bytes for array in tree.arrays) != len(rest) - end:
        raise ValueError("its arrays are longer or shorter than it says")
    arrays = []
    for one in tree.arrays:
        arrays.append(np.frombuffer(rest[end : end + one.bytes], one.dtype).reshape(one.shape).copy())
        end += one.bytes
    return tree.model_dump(), arrays


def restore(path: Path, run_id: str, execution: Execution, evaluator: GridEvaluator) -> None:
    """Puts a fresh execution and its evaluator where they were when the checkpoint was taken.

    Args:
        path: the checkpoint's file.
        run_id: the run to which the checkpoint must belong.
        execution: receives version, state, messages, buffers, selections and times.
        evaluator: receives the rows of the evaluation grid.

    Raises:
        RecordError: if the file is damaged or of another form, or of another run, trainer or
            device: all of a record comes from one, with which `verify` replays it.
    """
    try:
        tree, arrays = opened(plain_files.content(path, LARGEST, "checkpoint", RecordError, MAGIC))
    except (ValueError, TypeError, RecursionError) as error:
        raise _refused(path, first_problem(error) if isinstance(error, ValidationError) else str(error)) from None
    if tree["run_id"] != run_id:
        raise RecordError(f"checkpoint {path}: it belongs to run {tree['run_id']}; expected {run_id}")
    if tree["trainer"] != _computed(execution):
        raise RecordError(
            f"checkpoint {path}: it was computed by {tree['trainer']}, this run by {_computed(execution)}, whose bits are others; go on "
            f"as it began, or delete it"
        )
    try:
        unpacked = functools.partial(unpack, arrays=arrays, place=execution.place)
        state = {name: unpacked(item) for name, item in tree["state"].items()}
        buffers = unpacked(tree["buffers"])
        messages = {
            int(version): (
                Message(**{n: unpacked(item) for n, item in kept["named"].items()}).frozen(),
                unpacked(kept["buffers"]),
            )
            for version, kept in tree["messages"].items()
        }
        _check_fits({"buffers": buffers, "state": state}, {"buffers": execution.buffers, "state": dict(execution.state.items())})
        _check_messages(messages, tree["version"], execution)
        _check_rows(tree["rows"], evaluator.names)
        if evaluator.along is not None:
            evaluator.along.restore(tree["along"] and unpack(tree["along"], arrays))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise _refused(path, str(error) or type(error).__name__) from None
    execution.version, execution.trained_steps = tree["version"], tree["trained_steps"]
    execution.server_seconds, execution.selections = tree["server_seconds"], tree["selections"]
    execution.begun -= tree["wall_seconds"]
    execution.buffers, execution.state, execution.messages = buffers, State(**state), messages
    evaluator.rows = [{**row, "version": int(row["version"])} for row in tree["rows"]]


def _refused(path: Path, why: str) -> RecordError:
    return RecordError(f"checkpoint {path}: cannot be read ({' '.join(why.split()):.300}); delete it to start the run again")


def _check_fits(saved: object, fresh: object, name: str = "") -> None:
    """Raises ValueError, naming it, for a saved value of another kind than a fresh run has. A value
    may turn from None into anything, and back."""
    if isinstance(fresh, dict) and isinstance(saved, dict):
        if set(saved) != set(fresh):
            raise ValueError(
                f"{name or 'it'} has {', '.join(sorted(saved)) or 'nothing'}; the run has {', '.join(sorted(fresh))}"
            )
        for key in fresh:
            _check_fits(saved[key], fresh[key], f"{name}.{key}".removeprefix("."))
    elif saved is not None and fresh is not None and _outline(saved) != _outline(fresh):
        raise ValueError(f"{name} is {_outline(saved)}; the run has {_outline(fresh)}")


def _outline(value: object) -> str:
    if is_array(value):
        return f"{value.dtype} {value.shape}" + (" on a device" if isinstance(value, OnDevice) else "")
    if isinstance(value, ClientTable):
        return f"a table of {value.clients} clients with {_outline(value.default)}"
    if isinstance(value, TeacherMean):
        return f"a mean of {value.kind} {value.dtype} {value.shape}"
    kinds: dict[type, str] = {bool: "true or false", str: "text", int: "a number", float: "a number"}
    return kinds.get(type(value), "a list")


def _check_messages(messages: dict[int, tuple[Message, Vector]], version: int, execution: Execution) -> None:
    """Checks the models from which clients still train: each has the run's shape, and none is of a
    version after `version`. Raises ValueError otherwise."""
    for base, (message, buffers) in messages.items():
        _check_fits(
            {"x": None if execution.algorithm.alone else message.x, "buffers": buffers},
            {"x": execution.state.x, "buffers": execution.buffers},
            f"messages.{base}",
        )
        if base > version:
            raise ValueError(f"messages.{base} is of a version after {version}")


def _check_rows(rows: list[dict[str, float]], names: Sequence[str]) -> None:
    """Raises ValueError unless every row has the metrics of the run, and no others."""
    for row in rows:
        if row.keys() != {"seconds", "version", *names}:
            raise ValueError(f"its rows have {', '.join(sorted(row))}; the run has {', '.join(names)}")


def _computed(execution: Execution) -> str:
    backend = execution.backend
    return f"trainer {backend.name} on {backend.device}{f' with {backend.lanes} lanes' if backend.lanes else ''}"


class Checkpointer:
    """Saves a checkpoint after an update, at most once in `every_seconds` of host time."""

    def __init__(self, path: Path, run_id: str, evaluator: GridEvaluator, every_seconds: float) -> None:
        self.path, self.run_id, self.evaluator, self.every_seconds = path, run_id, evaluator, every_seconds
        self._last = time.monotonic()

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None: ...

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None:
        if time.monotonic() - self._last >= self.every_seconds:
            self.save(execution)

    def save(self, execution: Execution) -> None:
        save(self.path, self.run_id, execution, self.evaluator)
        self._last = time.monotonic()

    def save_despite(self, error: BaseException, execution: Execution) -> None:
        """Saves a checkpoint if possible. The error that ended the run is raised as it is."""
        try:
            self.save(execution)
        except OSError as problem:
            error.add_note(f"no checkpoint could be written: {problem}")
