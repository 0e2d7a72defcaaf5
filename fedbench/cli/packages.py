"""What is installed beside fedbench: packages of others that use its names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import distributions

from fedbench.extras import DISTRIBUTION

NAME = "fedbench"


def _same(name: str) -> str:
    """Returns the name of a package as an index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def owners() -> Iterator[tuple[str, str]]:
    """Yields the packages other than ours that install something under our name, and what: both may
    be written over ours, or stand in the place of it."""
    for package in distributions():
        name = str(package.metadata["Name"])
        if _same(name) == DISTRIBUTION:
            continue
        has = {
            f"files of the package {NAME}": any(file.parts[0] == NAME for file in package.files or ()),
            f"a command {NAME}": any(p.name == NAME and p.group == "console_scripts" for p in package.entry_points),
        }
        if any(has.values()):
            yield f"{name} {package.version}", " and ".join(what for what, is_there in has.items() if is_there)
