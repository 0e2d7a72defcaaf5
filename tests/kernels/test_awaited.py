"""Numbers that are read when they are used."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedbench.kernels.awaited import awaited


class Numbers:
    """Two numbers of a device, which counts how often they are read."""

    def __init__(self) -> None:
        self.reads = 0

    def tolist(self) -> list[float]:
        self.reads += 1
        return [5.0, 0.5]


def test_they_are_read_when_they_are_used() -> None:
    numbers = Numbers()
    norm, factor = awaited(numbers, 0, 1)
    assert numbers.reads == 0
    total = 1.0
    total += norm
    assert (total, type(total), numbers.reads) == (6.0, np.float64, 1)
    assert (norm * factor, factor - 1, math.sqrt(factor * 2), float(norm), -factor) == (2.5, -0.5, 1.0, 5.0, -0.5)
    assert norm > factor
    assert norm == 5
    assert (f"{factor:.2f}", repr(norm), np.log2(factor)) == ("0.50", "5.0", -1)
    assert np.array([norm, factor], np.float64).tolist() == [5, 0.5]


@pytest.mark.parametrize(("value", "truth"), [(0.0, False), (0.5, True)])
def test_zero_is_false(value: float, truth: bool) -> None:
    class One:
        def tolist(self) -> list[float]:
            return [value]

    assert bool(awaited(One(), 0)[0]) is truth
