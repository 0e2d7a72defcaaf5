"""Checks of a contract, and what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from fedbench.errors import FedbenchError
from fedbench.origins import described


class Broken(FedbenchError):
    """The contract is not kept; the message says how."""


@dataclass(frozen=True)
class Finding:
    """What one check found; `detail` says what was seen, or what is wrong."""

    check: str
    status: Literal["pass", "fail"]
    detail: str


def expect(kept: bool, otherwise: str) -> None:
    if not kept:
        raise Broken(otherwise)


def findings(checks: Mapping[str, Callable[[], str]]) -> Iterator[Finding]:
    """One finding per check, made when it is asked for. An error inside what is checked is a
    finding too, never a traceback."""
    for name, check in checks.items():
        try:
            yield Finding(name, "pass", check())
        except Exception as error:
            yield Finding(name, "fail", str(error) if isinstance(error, FedbenchError) else described(error))
