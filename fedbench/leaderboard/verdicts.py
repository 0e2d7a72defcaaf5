"""The verdicts on printed numbers and on their orders, as pages show them: a word, with a sign and
a colour beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Verdict = Literal["reproduced", "close", "contradicted", "agrees", "differs", "not run", "not comparable"]
Order = Literal["kept", "broken", "undecided"]
WORDS: tuple[str, ...] = get_args(Verdict)
ORDERS: tuple[str, ...] = get_args(Order)
SIGNS: Mapping[str, str] = {
    "reproduced": "✓",
    "close": "≈",
    "contradicted": "✗",
    "agrees": "=",
    "differs": "≠",
    "not run": "–",
    "not comparable": "?",
    "kept": "✓",
    "broken": "✗",
    "undecided": "~",
    "holds": "✓",
    "fails": "✗",
}
TONES: Mapping[str, str] = {
    "reproduced": "good",
    "close": "near",
    "contradicted": "bad",
    "agrees": "good",
    "differs": "bad",
    "not run": "none",
    "not comparable": "none",
    "kept": "good",
    "broken": "bad",
    "undecided": "none",
    "holds": "good",
    "fails": "bad",
}
"""The class of style.css that has the colour of a word."""
