"""Which jobs a wave takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.engine.waves import WaveQueue


class Chunk:
    """The columns of a chunk that a queue reads."""

    def __init__(self, consumed_by: list[int], base: list[int], client: list[int]) -> None:
        self.consumed_by, self.base, self.client = (np.array(column, np.int32) for column in (consumed_by, base, client))


def queue(n: int) -> WaveQueue:
    """Returns a queue with the ready jobs 0 .. n - 1."""
    chunk = Chunk(list(range(n)), [0] * n, list(range(n)))
    found = WaveQueue(chunk, from_version=0, has_memory=False)  # type: ignore[arg-type]
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
    assert waves.take(limit, last, workers).tolist() == list(range(taken))
    assert waves.take(None).tolist() == list(range(taken, ready))


@given(st.data(), st.booleans(), st.integers(0, 3))
def test_a_wave_is_the_first_of_the_jobs_that_can_run(data: st.DataObject, has_memory: bool, from_version: int) -> None:
    consumed_by = sorted(data.draw(st.lists(st.integers(-1, 6), max_size=25)))
    base = [data.draw(st.integers(0, max(update, 0))) for update in consumed_by]
    client = [data.draw(st.integers(0, 4)) for _ in consumed_by]
    waves = WaveQueue(Chunk(consumed_by, base, client), from_version=from_version, has_memory=has_memory)  # type: ignore[arg-type]
    left = [job for job, update in enumerate(consumed_by) if update >= from_version]

    def can_run(job: int, version: int) -> bool:
        return base[job] <= version and not (has_memory and any(client[other] == client[job] for other in left if other < job))

    for version in range(from_version, 7):
        waves.advance(version)
        while ready := [job for job in left if can_run(job, version)]:
            limit = data.draw(st.none() | st.integers(1, 9))
            wave = waves.take(limit).tolist()
            assert wave == ready[:limit]
            left = [job for job in left if job not in wave]
            waves.ran(np.array(wave))
            if data.draw(st.booleans()):
                break  # others can wait
    assert waves.take(None).tolist() == [job for job in left if can_run(job, 6)]
