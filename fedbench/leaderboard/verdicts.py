"""Verdicts on printed numbers and on their orders, as pages show them: a word, with a sign and a
colour beside it."""

from __future__ import annotations

from collections.abc import Mapping

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
"""Classes of style.css."""
WORDS = tuple(SIGNS)[:7]
ORDERS = tuple(SIGNS)[7:10]


def sign(word: str) -> str:
    """Returns the sign of a word."""
    return SIGNS[word]


def tone(word: str) -> str:
    """Returns the class of a word's colour."""
    return TONES[word]
