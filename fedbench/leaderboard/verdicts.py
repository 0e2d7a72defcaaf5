"""The verdicts on printed numbers and on their orders, as pages show them: a word, with a sign and
a colour beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Verdict = Literal["reproduced", "close", "contradicted", "agrees", "differs", "not run", "not comparable"]
Order = Literal["kept", "broken", "undecided"]
WORDS: tuple[str, ...] = get_args(Verdict)
ORDERS: tuple[str, ...] = get_args(Order)
SHOWN: Mapping[str, tuple[str, str]] = {
    "reproduced": ("✓", "good"),
    "close": ("≈", "near"),
    "contradicted": ("✗", "bad"),
    "agrees": ("=", "good"),
    "differs": ("≠", "bad"),
    "not run": ("–", "none"),
    "not comparable": ("?", "none"),
    "kept": ("✓", "good"),
    "broken": ("✗", "bad"),
    "undecided": ("~", "none"),
    "holds": ("✓", "good"),
    "fails": ("✗", "bad"),
}
"""The sign of a word, and its tone: the class of style.css that has its colour."""
SIGNS = {word: sign for word, (sign, _) in SHOWN.items()}
TONES = {word: tone for word, (_, tone) in SHOWN.items()}
