"""Draws how many targets every algorithm reaches within a factor of the reference times. Each has a
small picture, with the others in grey behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from fedbench.documents.parts import Kind
from fedbench.documents.suite import Profiles
from fedbench.leaderboard.pictures import image

WIDTH, HEIGHT = 168, 96
LEFT, RIGHT, TOP, BOTTOM = 26, 6, 6, 18  # pixels around the picture
TICKS = (0.5, 1, 2, 4, 8, 16, 32)
CONTEXT = "profiles-context"


def pictures(profiles: Profiles, kind: Kind, labels: Sequence[str]) -> list[tuple[str, Markup, str]]:
    """Returns each of the labels that has a profile, with its picture and what it shows in words;
    none if there are no reference times. The first picture defines the grey lines of all, which the
    others show too."""
    factors, shares = profiles.factors, profiles.shares[kind]
    known = [label for label in labels if label in shares]
    if not factors or not known:
        return []
    ident = f"{CONTEXT}-{kind}"
    grey = f'<g id="{ident}" class="context">{"".join(_path(factors, shares[label]) for label in sorted(shares))}</g>'
    found = []
    for i, label in enumerate(known):
        behind = grey if i == 0 else f'<use href="#{ident}"/>'
        soon, late = (100 * _at(factors, shares[label], factor) for factor in (1, 4))
        within = f"{soon:.0f} % within the reference time, {late:.0f} % within 4x"
        inside = f"{_frame()}{behind}{_path(factors, shares[label], 'own')}"
        found.append((label, image("profile", (WIDTH, HEIGHT), f"{label}: {within}", inside), within))
    return found


def _at(factors: Sequence[float], shares: Sequence[float], factor: float) -> float:
    """Returns the share at a factor, which is that at the largest of `factors` up to it."""
    return max((share for one, share in zip(factors, shares, strict=True) if one <= factor), default=0.0)


def _x(factor: float) -> float:
    low, high = math.log2(TICKS[0]), math.log2(TICKS[-1])
    return LEFT + (WIDTH - LEFT - RIGHT) * (math.log2(factor) - low) / (high - low)


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def _path(factors: Sequence[float], shares: Sequence[float], name: str = "other") -> str:
    points = " ".join(
        f"{_x(factor):.1f},{_y(share):.1f}"
        for factor, share in zip(factors, shares, strict=True)
        if TICKS[0] <= factor <= TICKS[-1]
    )
    return f'<polyline class="{name}" points="{points}"/>'


def _frame() -> str:
    lines = [
        f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(share):.1f}" y2="{_y(share):.1f}"/>'
        for share in (0, 0.5, 1)
    ]
    lines += [
        f'<text x="{LEFT - 4}" y="{_y(share):.1f}" dy=".32em" text-anchor="end">{100 * share:.0f}</text>' for share in (0, 0.5, 1)
    ]
    lines += [f'<text x="{_x(tick):.1f}" y="{HEIGHT - 5}" text-anchor="middle">{tick:g}</text>' for tick in TICKS]
    return "".join(lines)
