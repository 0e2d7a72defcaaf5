"""What is installed beside fedbench: packages of others that use its names, and extras."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distributions, requires, version

from fedbench.results.provenance import DISTRIBUTION

NAME = "fedbench"
NOT_FOR_USERS = {"dev", "rivals"}


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


def extras() -> dict[str, list[str]]:
    """Returns the extras for users, each with its packages that are not installed."""
    found: dict[str, list[str]] = {}
    for line in requires(DISTRIBUTION) or ():
        match = re.match(r"([\w.-]+).*;.*\bextra\s*==\s*['\"]([\w.-]+)['\"]", line)
        if match is not None and match[2] not in NOT_FOR_USERS:
            found.setdefault(match[2], []).extend([] if _is_installed(match[1]) else [match[1]])
    return found


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
