"""Reads JSON more strictly than `json` does.

Every key may occur once, numbers are finite and have a bounded number of digits, characters are
whole, and the depth is bounded. Plain `json` keeps the last of several equal keys, reads NaN, makes
1e999 infinite, and ends in a RecursionError at deep nesting.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

DEEPEST = 40
MOST_DIGITS = 60


class RefusedJsonError(ValueError):
    """The text is not JSON, or breaks a rule of this module; the message is for the user."""


def load(text: str) -> Any:
    """Returns what a JSON text holds. RefusedJsonError if it cannot be read, or breaks a rule of
    this module."""
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_constant, parse_float=_finite, parse_int=_short)
    except RecursionError:
        raise RefusedJsonError(f"expected at most {DEEPEST} levels, got many more") from None
    except RefusedJsonError:
        raise
    except ValueError as error:
        raise RefusedJsonError(f"not valid JSON: {error}") from None
    _check_depth(found)
    if "\\u" in text:
        _check_whole(found)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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


def _check_depth(found: Any) -> None:
    level = [found]
    for _ in range(DEEPEST + 1):
        level = [one for one in level if isinstance(one, dict | list)]
        if not level:
            return
        level = [child for one in level for child in (one.values() if isinstance(one, dict) else one)]
    raise RefusedJsonError(f"expected at most {DEEPEST} levels, got more")


def _check_whole(found: Any) -> None:
    """Refuses half of a pair of surrogates, which a string can hold but which cannot be written."""
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise RefusedJsonError(f"expected whole characters, got half of a pair: {error.object[error.start]!r}") from None
