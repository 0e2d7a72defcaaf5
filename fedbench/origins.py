"""Where an algorithm comes from, and how to find it again; how files of code are read and run.

An algorithm is built in, or an entry point of another package, or a class in a file that the user
names, or an object that was given in Python.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import hashlib
import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import ClassVar

from fedbench import plain_files
from fedbench.errors import OriginError, UsageError, nearest, quoted
from fedbench.foreign import FROM_FILE, GROUP, described
from fedbench.protocols import Algorithm

ALGORITHMS = GROUP.format(kind="algorithm")
LARGEST = 512 << 10  # bytes of a file that is run
MOST_LINES = 20_000  # of such a file: compiling a line may take a kilobyte
IN_FILE = re.compile(r"(?P<file>.+\.py)(?::(?P<name>\w+))?")
NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_FILES: dict[str, tuple[Path, str]] = {}  # by module: the file, and the sha256 of what was run


def plain(name: str) -> str:
    """Returns a name as the registry has it: in small letters, with underscores for hyphens."""
    return name.replace("-", "_").lower()


def is_in_file(selector: str) -> bool:
    """Returns whether a selector has the form `path/to/mine.py:MyAlgorithm` or
    `path/to/mine.py`."""
    return IN_FILE.fullmatch(selector) is not None


def from_file(selector: str, sha256: str | None = None) -> type[Algorithm]:
    """Returns the class that `path/to/mine.py:MyAlgorithm` names. The file is run once for each
    content that it has, and its folder is not put on the import path.

    Args:
        selector: the file and the class, or a file that has only one algorithm.
        sha256: if given, the only content that may be run has this sum.

    Raises:
        UsageError: file or class is missing (the message has the nearest name), the file fails, or
            the class is no Algorithm with a valid name.
        OriginError: the content has another sum. The file is then not run.
    """
    match = IN_FILE.fullmatch(selector)
    if match is None:
        raise UsageError(f"algorithm {selector!r}: expected path/to/file.py:Class")
    file = Path(match["file"])
    module = run_file(file, selector, sha256)
    name = match["name"] or _only_algorithm(module, file)
    if not hasattr(module, name):
        raise UsageError(f"algorithm {selector}: {file.name} has no class {name!r}{nearest(name, own_classes(module))}")
    return _checked(getattr(module, name), selector)


def own_classes(module: ModuleType) -> dict[str, type]:
    """Returns the classes that a module defines itself."""
    return {key: value for key, value in vars(module).items() if isinstance(value, type) and value.__module__ == module.__name__}


def _only_algorithm(module: ModuleType, file: Path) -> str:
    """Returns the name of the algorithm in a user's file. UsageError unless there is just one."""
    found = [key for key, cls in own_classes(module).items() if issubclass(cls, Algorithm) and not key.startswith("_")]
    if len(found) != 1:
        has = f"it has {len(found)}: {', '.join(found)}" if found else "it has no class that extends fedbench.Algorithm"
        raise UsageError(
            f"algorithm {file}: expected one algorithm in the file, or {file}:{found[0] if found else 'Class'}; {has}"
        )
    return found[0]


def read_file(file: Path, selector: str, sha256: str | None, kind: str = "algorithm") -> tuple[bytes, str]:
    """Returns the content of a file of code and its sha256. `kind` says in messages what the
    selector names. Raises UsageError if it cannot be read, OriginError if its sum is not the one
    that is given."""
    content = plain_files.content(file, LARGEST, f"{kind} {selector}: file")
    if (lines := content.count(b"\n")) > MOST_LINES:
        raise UsageError(f"{kind} {selector}: file {file}: expected at most {MOST_LINES:,} lines, got {lines:,}")
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise OriginError(
            f"record: its {kind} is from a file with sha256 {sha256[:16]}..; {file.name} has {found[:16]}..: it was changed after the "
            "run, or is another one, and was not run"
        )
    return content, found


def run_file(file: Path, selector: str, sha256: str | None, kind: str = "algorithm") -> ModuleType:
    """Returns the module that a file of code is run as, once for each content. The errors are those
    of `read_file`, and UsageError if the file fails."""
    content, found = read_file(file, selector, sha256, kind)
    place = file.absolute()  # a link keeps its name, which the record has
    name = FROM_FILE + hashlib.sha256(str(place).encode() + content).hexdigest()[:16]
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while it runs
    try:
        exec(compile(content, str(file), "exec"), module.__dict__)
    except BaseException as error:  # what ends a program or a generator too
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        why, *code = described(error)
        raise UsageError(f"{kind} {selector}: cannot be imported: {why}", *code) from error
    _FILES[name] = place, found
    return module


def _checked(found: object, selector: str) -> type[Algorithm]:
    if not (isinstance(found, type) and issubclass(found, Algorithm)):
        raise UsageError(f"algorithm {selector}: expected a class that extends fedbench.Algorithm, got {quoted(found)}")
    name: object = found.name
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        raise UsageError(
            f"algorithm {selector}: the class attribute `name` must be at most 100 small letters, digits and underscores, got "
            f"{quoted(name, 120)}"
        )
    check_defaults(found)
    copyreg.pickle(found, _reduced)
    return found


def check_defaults(cls: type[Algorithm]) -> None:
    """Raises UsageError if an option of an algorithm has no default: selectors name what differs
    from the defaults."""
    for field in dataclasses.fields(cls):
        if field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise UsageError(f"algorithm {cls.name}: option {field.name} needs a default, such as `{field.name}: int = 1`")


def _reduced(algorithm: Algorithm) -> tuple[Callable[[str, dict[str, object]], Algorithm], tuple[str, dict[str, object]]]:
    """Pickles an algorithm as its file and options. The process that unpickles it runs the file
    again, since the module has no name by which it could be imported."""
    cls = type(algorithm)
    return _again, (f"{_FILES[cls.__module__][0]}:{cls.__name__}", algorithm.options())


def _again(selector: str, options: dict[str, object]) -> Algorithm:
    return from_file(selector).make(options)


def origin(cls: type[Algorithm]) -> dict[str, str]:
    """Returns how to find the class again, without folders or user names.

    The result is empty for a built-in algorithm. Otherwise it has the `kind` and the `class`, and
    for the kind "file" the file's name and sha256, for the kind "entry point" the package, its
    version, and the sha256 of the file that defines the class. The third kind is "object".
    """
    if issubclass(cls, Elsewhere):
        return dict(cls.where)
    if cls.__module__.startswith("fedbench.algorithms."):
        return {}
    if cls.__module__ in _FILES:
        file, content = _FILES[cls.__module__]
        return {"kind": "file", "file": file.name, "sha256": content, "class": cls.__name__}
    for point in entry_points(group=ALGORITHMS):
        if point.value.replace(" ", "") == f"{cls.__module__}:{cls.__qualname__}":
            return of_entry_point(point)
    return {"kind": "object", "class": cls.__name__}


class Elsewhere(Algorithm):
    """An algorithm whose code runs in another process. `where` is its origin."""

    where: ClassVar[Mapping[str, str]]


def entry_point(name: str) -> EntryPoint | None:
    """Returns the entry point of the algorithm with this name, None if no package has one."""
    return next((point for point in entry_points(group=ALGORITHMS) if plain(point.name) == name), None)


@functools.cache
def of_entry_point(point: EntryPoint) -> dict[str, str]:
    """Returns the origin of the class that an entry point names. Nothing of its package is
    imported. The sum is missing if there is no file."""
    package = {} if point.dist is None else {"package": point.dist.name, "version": point.dist.version}
    file = source_file(point.module)
    content = {} if file is None else {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    return {"kind": "entry point", "class": point.attr.rpartition(".")[2], **package, **content}


def source_file(module: str) -> Path | None:
    """Returns the file of a module, which is found without importing it or the packages around it;
    None if there is none."""
    top, *others = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a module that was made by hand
        return None
    for depth, _ in enumerate(others, 2):
        folders = None if spec is None else spec.submodule_search_locations
        if folders is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(".".join(module.split(".")[:depth]), folders)
    return Path(spec.origin) if spec is not None and spec.origin is not None and spec.has_location else None


def recorded(name: str, where: Mapping[str, str], given: str | None) -> type[Algorithm] | None:
    """Returns the class of a record's algorithm if the user names its file, and None if the
    registry has it.

    No file is run but the one that the user names. What the record says of a file is only compared
    with that one, and its sum is compared before it is run.

    Args:
        name: the algorithm's name in the record.
        where: the record's `origin`.
        given: the user's `path/to/mine.py:MyAlgorithm`, or None.

    Raises:
        OriginError: the algorithm is not here, or the file has another one. The message says where
            it can be found.
    """
    if not NAME.fullmatch(name):
        raise OriginError(f"record: the name of its algorithm must be small letters, digits and underscores, got {name!r:.80}")
    if given is not None:
        cls = from_file(given, where["sha256"] if where.get("kind") == "file" else None)
        if cls.name != name:
            raise OriginError(f"record: its algorithm is {name!r}, the class {cls.__name__} is named {cls.name!r}")
        return cls
    refuse_unknown(name, where)
    return None


def refuse_unknown(name: str, where: Mapping[str, str]) -> None:
    """Raises OriginError, which says what the user has to do, if the registry cannot have the
    algorithm of a record."""
    kind = where.get("kind", "")
    if kind == "file":
        raise OriginError(
            f"record: its algorithm {name!r} is {where['class']} in a file {where['file']} with sha256 {where['sha256'][:16]}..; "
            f"no file is run because a record names it; say where it is with --algorithm path/to/{where['file']}:{where['class']}"
        )
    if kind == "object":
        raise OriginError(
            f"record: its algorithm {name!r} was given in Python as an object of class {where['class']}; the record does not say "
            f"where that class is. Put it into a file and say --algorithm path/to/file.py:{where['class']}"
        )
    if kind == "entry point" and entry_point(name) is None:
        package = " ".join(where.get(key, "") for key in ("package", "version")).strip() or "a package"
        raise OriginError(f"record: its algorithm {name!r} is an entry point of {package}, which is not installed here")
