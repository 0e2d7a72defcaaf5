"""Draws how many numbers have which verdict, as one bar. The counts are beside it in words, so a
screen reader skips it."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from fedbench.documents.paper import VERDICTS, Verdict
from fedbench.leaderboard.verdicts import TONES

HEIGHT = 12


def shares(counts: Mapping[Verdict, int]) -> Markup:
    """Returns the bar of some counts in the order of the verdicts. It is as wide as the page lets
    it be, and empty without numbers."""
    whole = sum(counts.values())
    if not whole:
        return Markup()
    parts, at = [], 0.0
    for word in VERDICTS:
        wide = 100 * counts.get(word, 0) / whole
        if wide:
            kind = f"share-{word.replace(' ', '-')}"
            parts.append(f'<rect class="tone-{TONES[word]} {kind}" x="{at:.2f}%" width="{wide:.2f}%" height="{HEIGHT}"/>')
        at += wide
    return Markup(f'<svg class="shares" width="100%" height="{HEIGHT}" aria-hidden="true">{"".join(parts)}</svg>')
