"""Draws which clients have which labels. Clients are side by side from the fastest to the slowest,
and classes below each other. A cell is the darker, the larger its share of the client's
examples."""

from __future__ import annotations

from markupsafe import Markup

from fedbench.documents.pictures import Labels
from fedbench.leaderboard.pictures import image

SHADES = (0.02, 0.1, 0.25, 0.5, 0.75)
"""The smallest share that each shade stands for."""
WIDTH, ROW = 760, 16
LEFT, TOP, BOTTOM = 60, 4, 34


def label_map(found: Labels) -> Markup:
    """Returns the picture of a label map."""
    counts = found.counts
    classes = len(counts[0])
    wide, height = (WIDTH - LEFT) / len(counts), TOP + ROW * classes + BOTTOM
    cells: list[list[str]] = [[] for _ in SHADES]
    for i, of_client in enumerate(counts):
        whole = sum(of_client) or 1
        for label, count in enumerate(of_client):
            shade = sum(count / whole >= least for least in SHADES) - 1
            if shade >= 0:
                cells[shade].append(f"M{LEFT + wide * i:.1f} {TOP + ROW * label}h{wide:.2f}v{ROW - 1}h-{wide:.2f}z")
    shown = "".join(f'<path class="l{shade}" d="{"".join(several)}"/>' for shade, several in enumerate(cells) if several)
    names = "".join(
        f'<text x="{LEFT - 6}" y="{TOP + ROW * (label + 0.5)}" dy=".32em" text-anchor="end">{"class " if label == 0 else ""}{label}</text>'
        for label in range(classes)
    )
    held = sorted(sum(of_client) for of_client in counts)
    kinds = sum(sum(count > 0 for count in of_client) for of_client in counts) / len(counts)
    told = f"{len(counts)} clients with {held[0]} to {held[-1]} examples, of {kinds:.1f} of {classes} classes on average"
    ends = (
        f'<text x="{LEFT}" y="{height - 16}">fastest client, {found.step_seconds[0]:.3g} s a step</text>'
        f'<text x="{WIDTH}" y="{height - 16}" text-anchor="end">slowest, {found.step_seconds[-1]:.3g} s</text>'
    )
    return image("map", (WIDTH, height), told, f"{shown}{names}{ends}")
