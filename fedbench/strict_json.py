"""Reads JSON more strictly than `json` does.

Every key may occur once, numbers are finite and have a bounded number of digits, characters are
whole, and depth and number of groups are bounded. Plain `json` keeps the last of several equal
keys, reads NaN, makes 1e999 infinite, and ends in a RecursionError at deep nesting.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""What a JSON text may hold."""

DEEPEST = 40
MOST_DIGITS = 60
_LONG_NUMBER = re.compile(rf"[0-9]{{{MOST_DIGITS + 1}}}")
MOST_GROUPS = 2_000_000  # lists and objects, of which each takes some sixty bytes of memory and more


class RefusedJsonError(ValueError):
    """The text is not JSON, or breaks a rule of this module; the message is for the user."""


def load(text: str, *, finite: bool = True) -> Any:
    """Returns what a JSON text holds. RefusedJsonError if it cannot be read, or breaks a rule of
    this module. Without `finite` numbers may be NaN and infinite, as other programs write them."""
    check_groups(text)
    if (plain := _as_written_here(text)) is not None:
        return plain
    constant, number = (_constant, _finite) if finite else (None, None)
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=constant, parse_float=number, parse_int=_short)
    except RecursionError:
        raise RefusedJsonError(f"expected at most {DEEPEST} levels, got many more") from None
    except RefusedJsonError:
        raise
    except ValueError as error:
        raise RefusedJsonError(f"not valid JSON: {error}") from None
    _check_depth(found, text)
    if "\\u" in text:
        _check_whole(found)
    return found


def _as_written_here(text: str) -> Json:
    """Returns what a text holds if it is, to the character, what `json.dumps` with sorted keys
    writes of that, and so has no key twice and only finite numbers; else None. This takes a third
    of the time."""
    if _LONG_NUMBER.search(text) or "\\u" in text:
        return None
    try:
        found: Json = json.loads(text)
        if json.dumps(found, sort_keys=True, allow_nan=False) != text:
            return None
    except (ValueError, TypeError, RecursionError):
        return None
    _check_depth(found, text)
    return found


def check_groups(text: str) -> None:
    """Raises RefusedJsonError if the text promises more lists and objects than memory should
    hold."""
    groups = text.count("[") + text.count("{")
    if groups > MOST_GROUPS:
        raise RefusedJsonError(f"expected at most {MOST_GROUPS:,} lists and objects, got {groups:,}")


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RefusedJsonError(f"key {twice!r:.60} is given twice")
    return found


def _constant(word: str) -> NoReturn:
    raise RefusedJsonError(f"expected finite numbers, got {word}")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise RefusedJsonError(f"expected finite numbers, got {text:.60}")
    return value


def _short(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise RefusedJsonError(f"expected at most {MOST_DIGITS} digits, got {len(text):,}")
    return int(text)


def _check_depth(found: object, text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:  # as in nearly all texts
        return
    level = [found]
    for _ in range(DEEPEST + 1):
        groups = [one for one in level if isinstance(one, dict | list)]
        if not groups:
            return
        level = [child for one in groups for child in (one.values() if isinstance(one, dict) else one)]
    raise RefusedJsonError(f"expected at most {DEEPEST} levels, got more")


def _check_whole(found: object) -> None:
    """Refuses half of a pair of surrogates, which a string can hold but which cannot be written."""
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise RefusedJsonError(f"expected whole characters, got half of a pair: {error.object[error.start]!r}") from None
