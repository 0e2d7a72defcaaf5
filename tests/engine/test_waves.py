"""Which jobs a wave takes."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.engine.waves import WaveQueue


class Chunk:
    """Ready jobs 0 .. n - 1."""

    def __init__(self, n: int) -> None:
        self.consumed_by, self.base, self.client = np.arange(n), np.zeros(n, np.int32), np.arange(n)


def queue(n: int) -> WaveQueue:
    found = WaveQueue(Chunk(n), from_version=0, has_memory=False)  # type: ignore[arg-type]
    found.advance(0)
    return found


@pytest.mark.parametrize(
    ("ready", "limit", "last", "workers", "taken"),
    [
        (5, None, -1, 1, 5),
        (5, None, 0, 2, 4),
        (5, None, 3, 2, 4),
        (5, None, 4, 2, 5),  # the fifth is needed now
        (5, 3, 0, 2, 2),
        (5, 3, 2, 2, 3),
        (1, None, 0, 2, 1),
        (1, None, -1, 2, 1),  # less than one for each: nothing to cut
        (7, None, 2, 3, 6),
        (0, None, 0, 2, 0),
    ],
)
def test_take(ready: int, limit: int | None, last: int, workers: int, taken: int) -> None:
    waves = queue(ready)
    assert waves.take(limit, last, workers) == list(range(taken))
    assert waves.take(None) == list(range(taken, ready))
