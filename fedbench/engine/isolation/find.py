"""Finds the algorithm, the model, the loss, a metric or the optimiser of a record and starts a
process for it."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fedbench import extras, origins, own_models
from fedbench.engine.isolation.algorithm import Isolated
from fedbench.engine.isolation.measured import Measured
from fedbench.engine.isolation.metric import There as Metric
from fedbench.engine.isolation.optimizer import There as Optimizer
from fedbench.engine.isolation.process import ConfinedError, Process
from fedbench.errors import OriginError, PluginError, UsageError
from fedbench.own_models import Named
from fedbench.protocols import LONGEST_TITLE, Algorithm
from fedbench.registry import ALGORITHMS

NOTHING = dict.fromkeys(
    ("name", "title", "class", "hooks", "requires", "sends", "pooled", "alone", "clients_remember", "defaults")
)
NEEDED = {name for name in vars(Isolated) if name.startswith("_")} | {
    *("make", "options", "rule_terms", "rule", "dispatch", "init", "broadcast", "step")
}
"""The hooks that are always asked for, since the state is with the plug-in."""


@contextlib.contextmanager
def isolated(name: str, where: Mapping[str, str], given: str | None, *, only_confined: bool = False) -> Iterator[type[Isolated]]:
    """Yields the class of a record's algorithm, whose code runs in another process until the end of
    the block.

    Args:
        name: the algorithm's name in the record.
        where: the record's `origin`.
        given: the user's `path/to/mine.py:MyAlgorithm`; None for an entry point.
        only_confined: whether its code runs only if the system can confine it.

    Raises:
        OriginError: the algorithm is not here, or is another one.
        PluginError: its code fails.
        ConfinedError: the system cannot confine it, or it wants what it must not do.
    """
    with tempfile.TemporaryDirectory(prefix="fedbench-plugin-") as temporary:
        folder = Path(temporary).resolve()
        place, origin, readable = _in_file(given, where, folder) if given is not None else _installed(name, where)
        process = Process(name, folder, readable)
        try:
            _check_confined(process, only_confined=only_confined)
            declared = process.call("load", place, sys.path)
            yield _class(process, name, declared, origin)
        finally:
            process.close()


def _check_confined(process: Process, *, only_confined: bool) -> None:
    if only_confined and not process.confined:
        raise ConfinedError(
            f"{process.name:.80}: this system cannot confine a plugin, which takes Linux 6.2 with Landlock and seccomp"
        )


@contextlib.contextmanager
def isolated_model(code: Named, *, only_confined: bool = False) -> Iterator[Process]:
    """Has another process make the models of this code until the end of the block, and yields it.

    Args:
        code: what the user has named.
        only_confined: whether the code runs only if the system can confine it.

    Raises:
        OriginError: the code has changed.
        PluginError: it fails.
        ConfinedError: the system cannot confine it, or it wants what it must not do.
    """
    extras.require("torch", f"model {code.selector}", "torch")
    from fedbench.engine.isolation.model import There

    lock = threading.Lock()
    with (
        _own(code, only_confined=only_confined) as process,
        own_models.elsewhere(code, lambda *of: There(process, lock, *of)),
    ):
        yield process


@contextlib.contextmanager
def isolated_metric(code: Named, name: str, *, higher_is_better: bool, only_confined: bool = False) -> Iterator[Process]:
    """Has another process compute the metric of this code, of which a record states name and
    direction, until the end of the block, and yields it. The errors are those of
    `isolated_model`."""
    with (
        _own(code, [name, higher_is_better], only_confined=only_confined) as process,
        own_models.elsewhere(code, Metric(process)),
    ):
        yield process


@contextlib.contextmanager
def isolated_optimizer(code: Named, *, only_confined: bool = False) -> Iterator[Process]:
    """Has another process make the steps of this optimiser until the end of the block, and yields
    it. The errors are those of `isolated_model`."""
    with (
        _own(code, only_confined=only_confined) as process,
        own_models.elsewhere(code, Optimizer(process)),
    ):
        yield process


@contextlib.contextmanager
def isolated_loss(code: Named, *, only_confined: bool = False) -> Iterator[Process]:
    """Has another process compute the loss of this code until the end of the block, and yields it.
    The errors are those of `isolated_model`."""
    extras.require("torch", f"loss {code.selector}", "torch")
    from fedbench.engine.isolation.loss import There

    with (
        _own(code, only_confined=only_confined) as process,
        own_models.elsewhere(code, There(process)),
    ):
        yield process


@contextlib.contextmanager
def _own(code: Named, *stated: object, only_confined: bool) -> Iterator[Process]:
    """Yields a process that has loaded code of the user's, with what is stated of it."""
    with tempfile.TemporaryDirectory(prefix="fedbench-plugin-") as temporary:
        folder = Path(temporary).resolve()
        content, _ = origins.read_file(code.file, code.selector, code.sha256, code.kind)
        readable = [] if code.module is None else [_package(code.file, code.module)]
        if code.module is None:
            code = code._replace(file=folder / code.file.name)
            code.file.write_bytes(content)
        process = Process(own_models.short(code.selector), folder, readable, kind=code.kind)
        try:
            _check_confined(process, only_confined=only_confined)
            process.call("load", [code.selector, str(code.file), *code[2:]], *stated, sys.path)
            yield process
        finally:
            process.close()


Place = tuple[str, dict[str, str], list[Path]]
"""What the other process imports, its origin, and what it has to read for that."""


def _in_file(given: str, where: Mapping[str, str], folder: Path) -> Place:
    match = origins.IN_FILE.fullmatch(given)
    if match is None:
        raise UsageError(f"algorithm {given!r}: expected path/to/file.py:Class")
    file = Path(match["file"])
    content, found = origins.read_file(file, given, where.get("sha256") if where.get("kind") == "file" else None)
    (folder / file.name).write_bytes(content)
    named = "" if match["name"] is None else f":{match['name']}"
    return f"{folder / file.name}{named}", {"kind": "file", "file": file.name, "sha256": found}, []


def _installed(name: str, where: Mapping[str, str]) -> Place:
    origins.refuse_unknown(name, where)
    point = origins.entry_point(name)
    if point is None:
        raise OriginError(f"record: its algorithm {name!r:.80} is not built in, and no package here has it")
    found = origins.of_entry_point(point)
    if where.get("sha256") != found.get("sha256"):
        known, here = (one.get("sha256", "unknown")[:16] for one in (where, found))
        raise OriginError(
            f"record: its algorithm {name!r} is from a file of {found.get('package', 'a package')} with sha256 {known}..; the one here has "
            f"{here}..: it was changed after the run, and was not run"
        )
    file = origins.source_file(point.module)
    return point.value.replace(" ", ""), found, [] if file is None else [_package(file, point.module)]


def _package(file: Path, module: str) -> Path:
    """Returns the folder of the outermost package that the module is in, or its file."""
    depth = module.count(".") + (file.name == "__init__.py")
    return file.parents[depth - 1] if depth else file


def _class(process: Process, name: str, declared: dict[str, Any], origin: Mapping[str, str]) -> type[Isolated]:
    """Returns the class with what the plug-in declares, after checking it."""
    try:
        facts = {**NOTHING, **declared}
        named, own, hooks = str(facts["name"]), str(facts["class"]), set(facts["hooks"])
        declares = {
            "name": named,
            "title": str(facts["title"] or "")[:LONGEST_TITLE],
            "requires": frozenset(map(str, facts["requires"])),
            "sends": str(facts["sends"]),
            "pooled": facts["pooled"] is True,
            "alone": facts["alone"] is True,
            "clients_remember": facts["clients_remember"] is True,
            "defaults": dict(facts["defaults"]),
        }
    except (TypeError, ValueError) as error:
        raise PluginError(f"algorithm {name:.80}: its process does not say what it declares: {error}") from None
    if named != name:
        raise OriginError(f"record: its algorithm is {name!r:.80}, the class {own:.80} is named {named!r:.80}")
    if name in ALGORITHMS:
        raise OriginError(f"record: {name!r} is the name of a built-in algorithm, and {own:.80} is not built in")
    asked = {*hooks, *NEEDED}
    as_they_are = {hook: value for hook, value in vars(Algorithm).items() if hook in vars(Isolated) and hook not in asked}
    fixed = {"process": process, "measured": Measured(), "where": {"class": own, **origin}}
    return type("Plugin", (Isolated,), as_they_are | declares | fixed)
