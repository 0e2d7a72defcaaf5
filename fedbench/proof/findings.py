"""Runs the checks of a contract and collects what they find."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from fedbench.errors import FedbenchError
from fedbench.foreign import described

World = TypeVar("World")


class Broken(FedbenchError):
    """The contract is not kept; the message says in what way."""


@dataclass(frozen=True)
class Finding:
    """The result of one check. `detail` says what was seen, or what is wrong. The status of a check
    that fails as an earlier one did is "same", so that one mistake counts once."""

    check: str
    status: Literal["pass", "fail", "same"]
    detail: str


def expect(kept: bool, otherwise: str) -> None:
    """Raises Broken with the text `otherwise` if the contract is not kept."""
    if not kept:
        raise Broken(otherwise)


def findings(checks: Mapping[str, Callable[[], str]]) -> Iterator[Finding]:
    """Yields one finding for every check, and runs the check only then. An error inside what is
    checked makes a finding too, never a traceback."""
    failed: set[str] = set()
    for name, check in checks.items():
        try:
            yield Finding(name, "pass", check())
        except Exception as error:
            detail = str(error) if isinstance(error, FedbenchError) else "\n".join(described(error))
            yield Finding(name, "same" if detail in failed else "fail", detail)
            failed.add(detail)


def findings_in(checks: Mapping[str, Callable[[World], str]], make: Callable[[], World]) -> Iterator[Finding]:
    """Yields likewise for checks of one world, which is made for the first of them. A world that
    cannot be made fails every check."""
    world = functools.cache(make)

    def bound(check: Callable[[World], str]) -> Callable[[], str]:
        return lambda: check(world())

    return findings({name: bound(check) for name, check in checks.items()})
