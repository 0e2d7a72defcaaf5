"""Curves of a section."""

from __future__ import annotations

import pytest

from fedbench.documents.section import Curve


def test_a_band_is_the_mean_and_its_half_width() -> None:
    at, mean, low, high = Curve(band="t", at=(1.0, 2.0), mean=(0.5, 0.6), half=(0.1, 0.2)).columns
    assert (at, mean, low, high) == ((1.0, 2.0), (0.5, 0.6), pytest.approx([0.4, 0.4]), pytest.approx([0.6, 0.8]))
    assert Curve(band="range", at=(1.0,), mean=(0.5,), low=(0.4,), high=(0.7,)).columns == ((1.0,), (0.5,), (0.4,), (0.7,))
    assert Curve(band="none", at=(1.0,), mean=(0.5,)).columns[2:] == ((0.5,), (0.5,)), "one seed has no band"
