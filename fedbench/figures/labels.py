"""Draws which clients have examples of which classes."""

from __future__ import annotations

import numpy as np

from fedbench.engine.label_map import LabelMap
from fedbench.figures.style import LOOKS, Drawn, canvas, styled

BARS, CLASS, FRAME = 12.0, 3.6, 16.0  # mm: heights of the bars, of a class, of what is around both
LEAST = 24.0  # mm: the height of all classes together, beside which the scale has its label


@styled
def draw_labels(data: LabelMap, width: float) -> Drawn:
    """Returns the figure of classes and clients, with the fastest client at the left. A cell shows
    which share of the client's examples belongs to the class. Bars above show how many examples the
    client has."""
    counts = np.array(data.counts)
    clients, classes = counts.shape
    sizes = counts.sum(axis=1)
    tall = max(CLASS * classes, LEAST)
    figure, (above, axes) = canvas(width, BARS + tall + FRAME, 2, sharex=True, height_ratios=[BARS, tall])
    above.bar(np.arange(clients), sizes, 1.0, color=LOOKS[0].colour, linewidth=0)
    above.set_ylabel("examples")
    above.margins(x=0)
    shares = 100 * counts.T / np.maximum(sizes, 1)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=100, aspect="auto", interpolation="none")
    axes.set_yticks(range(classes), [f"{label}" for label in range(classes)], fontsize=5 if classes > 12 else 6)
    axes.set_ylabel("class")
    axes.set_xlabel(f"{clients} clients, from the fastest to the slowest")
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, pad=0.01, aspect=15)
    bar.set_label("share of a client (%)", fontsize=6)
    bar.outline.set_visible(False)
    slow = max(data.step_seconds) / max(min(data.step_seconds), 1e-12)
    caption = (
        f"Examples of {clients} clients by class, seed {data.seed}, as shares of a client's examples, and their number above; the "
        f"slowest client takes {slow:.3g} times as long for a step as the fastest."
    )
    return Drawn(figure, caption)
