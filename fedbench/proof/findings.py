"""Runs the checks of a contract and collects what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from fedbench.errors import FedbenchError
from fedbench.foreign import described


class Broken(FedbenchError):
    """The contract is not kept; the message says in what way."""


@dataclass(frozen=True)
class Finding:
    """The result of one check. `detail` says what was seen, or what is wrong."""

    check: str
    status: Literal["pass", "fail"]
    detail: str


def expect(kept: bool, otherwise: str) -> None:
    """Raises Broken with the text `otherwise` if the contract is not kept."""
    if not kept:
        raise Broken(otherwise)


def findings(checks: Mapping[str, Callable[[], str]]) -> Iterator[Finding]:
    """Yields one finding for every check, and runs the check only then. An error inside what is
    checked makes a finding too, never a traceback."""
    for name, check in checks.items():
        try:
            yield Finding(name, "pass", check())
        except Exception as error:
            yield Finding(name, "fail", str(error) if isinstance(error, FedbenchError) else described(error))
