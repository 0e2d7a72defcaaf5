"""How many of some numbers have which verdict, as one bar. The counts stand beside it in words, so
it says nothing to a screen reader."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from fedbench.leaderboard.verdicts import WORDS, tone

HEIGHT = 12


def shares(counts: Mapping[str, int]) -> Markup:
    """Returns the bar, in the order of the verdicts; nothing without numbers. It is as wide as the
    page gives it."""
    whole = sum(counts.values())
    if not whole:
        return Markup()
    parts, at = [], 0.0
    for word in WORDS:
        wide = 100 * counts.get(word, 0) / whole
        if wide:
            kind = f"share-{word.replace(' ', '-')}"
            parts.append(f'<rect class="tone-{tone(word)} {kind}" x="{at:.2f}%" width="{wide:.2f}%" height="{HEIGHT}"/>')
        at += wide
    return Markup(f'<svg class="shares" width="100%" height="{HEIGHT}" aria-hidden="true">{"".join(parts)}</svg>')
