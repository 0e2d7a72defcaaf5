"""What the process of a plug-in imports, and how it finds it."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedbench.own_models import Named


class Readable:
    """Finds the package, or the module in a file, that this process may read. The interpreter would
    look into the folder around it first, which it may not."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if path is not None or name != self._place.stem:
            return None
        if self._place.suffix:
            return spec_from_file_location(name, self._place)
        return spec_from_file_location(name, self._place / "__init__.py", submodule_search_locations=[str(self._place)])


def import_as_there(path: list[str]) -> None:
    """Takes the import path of the other side, and what this process may read for it."""
    sys.path[:] = path
    sys.meta_path += [Readable(Path(one)) for one in sys.argv[3:]]


def code_of(given: list[str | None], path: list[str]) -> Named:
    """Returns code of the user's, given the fields of its `Named`, that can be imported here, with
    the import path of the other side."""
    from fedbench.own_models import Named

    import_as_there(path)
    selector, file, *rest = given
    return Named(str(selector), Path(str(file)), *rest)  # type: ignore[arg-type]
