"""Numbers that are read when they are looked at."""

from __future__ import annotations

import numpy as np

from fedbench.kernels.awaited import Awaited


class Numbers:
    """Two numbers of a device, which counts how often they are copied."""

    shape = (2,)

    def __init__(self) -> None:
        self.copies = 0

    def tolist(self) -> list[float]:
        self.copies += 1
        return [5.0, 0.5]


def test_they_are_copied_once_and_when_they_are_looked_at() -> None:
    numbers = Numbers()
    found = Awaited(numbers)
    assert (len(found), numbers.copies) == (2, 0)
    norm, factor = found
    assert (norm, factor, type(norm), numbers.copies) == (5.0, 0.5, float, 1)
    assert (found[-1], repr(found), np.array(found).tolist()) == (0.5, "(5.0, 0.5)", [5, 0.5])
    assert numbers.copies == 1
