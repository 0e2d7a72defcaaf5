"""Models, losses, metrics and optimisers of the user's own, by name: `path/to/mynet.py:Net` or
`package.module:Net`.

Code is run only if the user has named it: in a scenario's file, a setting, an option of the command
line, or in Python. A scenario that comes out of a record has the same words and the sum of the
code, and by themselves they run nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from fedbench import origins, places
from fedbench.errors import OriginError, UsageError, nearest
from fedbench.foreign import FROM_FILE, described

SELECTOR = re.compile(r"(?:(?P<file>.+\.py)|(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)):(?P<name>[A-Za-z_]\w*)")
KEYS = {"model": "task.model", "loss": "task.loss", "metric": "evaluation.metrics", "optimizer": "local.optimizer"}
"""The keys of a scenario that name code, by what the code is."""


class Named(NamedTuple):
    """Code that the user has named: a file or an installed module, what is taken out of it, the sum
    of its content, and what it is, a key of KEYS."""

    selector: str
    file: Path
    module: str | None
    name: str
    sha256: str
    kind: str = "model"

    def found(self) -> Callable[..., object]:
        """Runs the code, once for each content, and returns the class or function. UsageError,
        which names the nearest one, if there is none; OriginError if the content has changed."""
        if (self.sha256, self.name) in _GIVEN:
            return _GIVEN[self.sha256, self.name]
        if self.module is None:
            module = origins.run_file(self.file, self.selector, self.sha256, self.kind)
        else:
            content, _ = origins.read_file(self.file, self.selector, self.sha256, self.kind)
            try:
                module = importlib.import_module(self.module)
            except Exception as error:
                why, *code = described(error)
                raise UsageError(f"{self.kind} {self.selector}: cannot be imported: {why}", *code) from error
            _check_current(module, content, self)
        if not hasattr(module, self.name):
            near = nearest(self.name, [key for key, value in vars(module).items() if callable(value)])
            raise UsageError(f"{self.kind} {self.selector}: {self.file.name} has no class or function {self.name!r}{near}")
        value = getattr(module, self.name)
        if not callable(value):
            raise UsageError(f"{self.kind} {self.selector}: expected a class or a function, got {type(value).__name__}")
        return value  # type: ignore[no-any-return]


_GIVEN: dict[tuple[str, str], Callable[..., object]] = {}  # by sum and name: what was given as an object
_NAMED: dict[tuple[str, str], Named] = {}  # by sum and name: what the user has named in this process


def _check_current(module: ModuleType, content: bytes, one: Named) -> None:
    """Raises UsageError if a module has other functions than the content of its file: it was
    imported before the file was changed, so that a record would have the sum of what was not
    run."""
    known = set(_codes(compile(content, "file", "exec", dont_inherit=True)))
    here = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
    functions = [member for one in here for member in (vars(one).values() if isinstance(one, type) else [one])]
    codes = [getattr(getattr(one, "__func__", one), "__code__", None) for one in functions]
    if any(code is not None and code.co_filename == module.__file__ and code not in known for code in codes):
        raise UsageError(
            f"{one.kind} {one.selector}: its file was changed after it was imported; start Python again, so that what runs is what it says"
        )


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def is_own(model: str) -> bool:
    """Returns whether the name of a model says where its code is. Names of the library do not."""
    return ":" in model or model.endswith(".py")


def name_of(model: str, kind: str = "model") -> str:
    """Returns the class or function that a selector names. UsageError for another form."""
    return _parts(model, kind)["name"]


def short(model: str) -> str:
    """Returns a selector without the folders around its file."""
    parts = _parts(model)
    return f"{parts['module'] or Path(parts['file']).name}:{parts['name']}"


def _parts(model: str, kind: str = "model") -> dict[str, str]:
    match = SELECTOR.fullmatch(model)
    if match is None:
        raise UsageError(f"{kind} {model!r:.200}: expected path/to/file.py:Class or package.module:Class")
    return match.groupdict()


def named(model: str, folders: Iterable[Path] = (), sha256: str | None = None, kind: str = "model") -> Named:
    """Returns what the user names, which may be run from now on. Nothing is run yet.

    Args:
        model: the selector.
        folders: where a file is looked for first; then in the working directory and the data root.
        sha256: if given, the sum that the content must have.
        kind: what it is, a key of KEYS.

    Raises:
        UsageError: the selector has another form, or its file cannot be read.
        MissingDataError: the file is in none of these places.
        OriginError: the content has another sum.
    """
    parts = _parts(model, kind)
    if parts["file"]:
        file = places.found(parts["file"], KEYS[kind], folders).absolute()
    elif (place := origins.source_file(parts["module"])) is not None:
        file = place
    else:
        raise UsageError(
            f"{kind} {model}: no module {parts['module']} is installed; a file is named as path/to/file.py:{parts['name']}"
        )
    _, found = origins.read_file(file, model, sha256, kind)
    return remembered(Named(model, file, parts["module"] or None, parts["name"], found, kind))


def remembered(one: Named) -> Named:
    """Returns what the user has named, also in another process, and allows it here."""
    _NAMED[one.sha256, one.name] = one
    return one


def allowed(model: str, sha256: str) -> Named | None:
    """Returns the code of a model with this sum if the user has named it; else None."""
    return _NAMED.get((sha256, name_of(model)))


def recorded(model: str, sha256: str, given: str | None, kind: str = "model") -> Named:
    """Returns the code of a record's model: what the user names as `given`, if that has the name
    and the sum, or else what the user has named before. The errors are those of `named` and
    `of`."""
    if given is None:
        return of(model, sha256, kind)
    if name_of(given, kind) != name_of(model, kind):
        raise OriginError(f"record: its {kind} is {short(model)}, got {given}")
    return named(given, sha256=sha256, kind=kind)


def of(model: str, sha256: str, kind: str = "model") -> Named:
    """Returns the code of a model with this sum. OriginError, which says what to do, unless the
    user has named it."""
    found = allowed(model, sha256)
    if found is None:
        code = short(model)
        place = f"path/to/{code}" if _parts(model)["file"] else code
        raise OriginError(
            f"record: its {kind} is {code} with sha256 {sha256[:16]}..; no file is run because a record names it; say where it is with "
            f"--{kind} {place}"
        )
    return found


_ELSEWHERE: dict[tuple[str, str], object] = {}  # by sum and name: what answers in the place of code that runs here


@contextlib.contextmanager
def elsewhere(code: Named, answers: object) -> Iterator[None]:
    """Has another process run the code while the block lasts; `answers` asks it."""
    _ELSEWHERE[code.sha256, code.name] = answers
    try:
        yield
    finally:
        del _ELSEWHERE[code.sha256, code.name]


def there(code: Named) -> Any:
    """Returns what was given to `elsewhere` for this code; None if it runs here."""
    return _ELSEWHERE.get((code.sha256, code.name))


def given(factory: Callable[..., object]) -> Named:
    """Returns the code of a class or function that is given in Python. UsageError unless it is at
    the top of a file."""
    name, module = getattr(factory, "__qualname__", "?"), getattr(factory, "__module__", "")
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or getattr(sys.modules[module], name, None) is not factory:
        raise UsageError(
            f"model {name}: expected a class or function at the top of a file, whose sum records have; put it into a file and import it"
        )
    is_run = module == "__main__" or module.startswith(FROM_FILE)
    one = named(f"{file if is_run else module}:{name}")
    _check_current(sys.modules[module], origins.read_file(one.file, one.selector, one.sha256, "model")[0], one)
    _GIVEN[one.sha256, one.name] = factory
    return one
