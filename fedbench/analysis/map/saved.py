"""A fitted map as one file, which everybody reads who asks for advice.

The file is a zip archive of numpy's arrays (.npz): `about` is JSON, which `MapPart` describes, and
the other arrays belong to the costs. What is read again gives the same answers, to the last bit, as
what was written.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import plain_files
from fedbench.analysis.map.factors import Design
from fedbench.analysis.map.kept import Costs
from fedbench.analysis.map.parts import SCHEMA, CostsPart, MapPart
from fedbench.errors import UsageError, quoted
from fedbench.scenarios.problems import validated

LARGEST, LARGEST_UNPACKED = 64 << 20, 256 << 20  # bytes of a file
ARRAYS = ("centre", "around", "own", "shared", "log", "is_bound", "regret")
OF_DESIGN = ("groups", "centre", "scale")
DESCRIBED = ("factors", "interactions", "middle", "half", "terms", "left_out")
"""The fields of a design that are arrays, and those that are in the JSON."""
Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Saved:
    """A fitted map: what it says of itself, and its costs by axis."""

    about: MapPart
    costs: Mapping[str, Costs]


def saved(costs: Mapping[str, Costs], **about: Any) -> Saved:
    """Returns a map with these costs; `about` has the other fields of `MapPart`. UsageError if they
    do not fit."""
    return Saved(
        validated(MapPart, {"schema": SCHEMA, **about, "costs": {axis: _part(one) for axis, one in costs.items()}}, "map"), costs
    )


def _part(costs: Costs) -> dict[str, object]:
    own = {"algorithms": costs.algorithms, "seed": costs.seed, "points": costs.points, "verdict": costs.verdict}
    return own | {name: getattr(costs.design, name) for name in DESCRIBED}


def write(file: Path, given: Saved) -> None:
    """Writes a map. A file that is already there is replaced once all is written."""
    arrays: dict[str, npt.NDArray[Any]] = {"about": np.frombuffer(given.about.model_dump_json(by_alias=True).encode(), np.uint8)}
    for axis, costs in given.costs.items():
        arrays |= {f"{axis}.{name}": getattr(costs, name) for name in ARRAYS}
        arrays |= {f"{axis}.design.{name}": getattr(costs.design, name) for name in OF_DESIGN}
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    temporary = file.with_name(f"{file.name}.{os.getpid()}.part")
    temporary.write_bytes(packed.getvalue())
    temporary.replace(file)


def read(file: Path) -> Saved:
    """Returns the map in a file. UsageError, in one line, for a file that is missing, broken, or of
    another schema."""
    arrays = _arrays(plain_files.content(file, LARGEST, "map"), file)
    text = plain_files.decoded(arrays.get("about", np.zeros(0, np.uint8)).tobytes(), f"map {file}")
    content = plain_files.json_of(text, f"map {file}")
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        got = quoted(content.get("schema") if isinstance(content, dict) else content)
        raise UsageError(f"map {file}: expected schema {SCHEMA}, got {got}; a newer one needs a newer fedbench")
    about = validated(MapPart, content, str(file))
    return Saved(about, {axis: _costs(part, f"{axis}.", arrays, f"map {file}: {axis}") for axis, part in about.costs.items()})


def _arrays(content: bytes, file: Path) -> Arrays:
    """Returns the arrays of a file by name."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            unpacked = sum(one.file_size for one in packed.infolist())
        if unpacked <= LARGEST_UNPACKED:
            with np.load(io.BytesIO(content), allow_pickle=False) as found:
                return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}
    except Exception as error:  # of zipfile, zlib, and numpy's reader of heads: of many kinds
        raise UsageError(f"map {file}: it is broken, or no map: {type(error).__name__}") from None
    raise UsageError(f"map {file}: expected at most {LARGEST_UNPACKED:,} bytes when unpacked, got {unpacked:,}")


def _costs(part: CostsPart, before: str, arrays: Arrays, where: str) -> Costs:
    """Returns the costs on one axis, whose arrays have names that begin with `before`. UsageError
    if the parts do not fit together."""
    names, rows, points = len(part.algorithms), len(part.terms), len(part.points.get("point", ()))
    draws = len(arrays.get(f"{before}own", ()))
    wanted = {
        "centre": ("f8", names, rows), "around": ("f2", draws, names, rows), "own": ("f8", draws), "shared": ("f8", draws),
        "log": ("f8", points, names), "is_bound": ("b1", points, names), "regret": ("f8", points, names),
        "design.groups": ("i8", rows), "design.centre": ("f8", rows), "design.scale": ("f8", rows),
    }  # fmt: skip
    found = dict(_fitting(wanted, before, arrays, where))
    of_design = {name.partition(".")[2]: found.pop(name) for name in list(found) if name.startswith("design.")}
    design = Design(points=points, **{name: getattr(part, name) for name in DESCRIBED}, **of_design)
    try:
        columns = design.matrix(part.points).shape if points and draws else ()
    except (UsageError, ValueError, KeyError, ZeroDivisionError) as error:
        raise UsageError(f"{where}: its points do not fit its columns: {error}") from None
    if columns != (points, rows):
        raise UsageError(f"{where}: expected draws, and points with {rows} columns, got {draws} and {columns}")
    return Costs(design, part.algorithms, part.points, part.seed, part.verdict, **found)


def _fitting(wanted: Mapping[str, tuple[Any, ...]], before: str, arrays: Arrays, where: str) -> Iterator[tuple[str, Any]]:
    """Yields arrays of the wanted types and shapes, of finite numbers; what was measured may be
    NaN."""
    for name, (kind, *shape) in wanted.items():
        array = arrays.get(before + name)
        if array is None or array.dtype != np.dtype(kind) or array.shape != tuple(shape):
            got = "none" if array is None else f"{array.dtype} {array.shape}"
            raise UsageError(f"{where}: {name} must be {np.dtype(kind)} {tuple(shape)}, got {got}")
        if not (np.isfinite(array) | np.isnan(array) & (name in ("log", "regret"))).all() or (
            name == "design.scale" and (array <= 0).any()
        ):
            raise UsageError(f"{where}: {name} must be finite{' and above 0' if name == 'design.scale' else ''}")
        yield name, array
