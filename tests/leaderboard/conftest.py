import pytest

from tests.conftest import alter
from tests.leaderboard.reading import HOSTILE, named


@pytest.fixture
def board(record):
    """Two of a system, one that misses and one that diverges of another, and a second scenario with
    one seed and hostile names. The grid is so fine that targets get a verdict."""
    best = [record("fedavg", seed, [0.1, 0.7, 0.85, 0.9, 0.90 + 0.01 * seed]) for seed in range(3)]
    tied = [
        record("fedbuff[buffer_size=10,concurrency=10]", seed, [0.1, 0.8, 0.85, 0.9, 0.92 - 0.02 * seed]) for seed in range(3)
    ]
    misses = [record("slow", 0, [0.1, 0.5, 0.8, 0.8, 0.8]), *(record("slow", s, [0.1, 0.2, 0.3, 0.4, 0.5]) for s in (1, 2))]
    held = [0.1, 0.5, 0.8, 0.9, 0.9]
    broken = [
        record("wild", 0, held),
        record("wild", 1, held),
        record("wild", 2, [0.1, 0.5], state="diverged", test_accuracy=None),
    ]
    alone = record("alone", 7, held, scenario_hash="abad1dea")
    for run in tied:
        alter(run, "spec.algorithm.options.concurrency", 10)
    runs = [*best, *tied, *misses, *broken, alone]
    for run in runs:
        alter(run, "spec.scenario.evaluation.every_seconds", 0.5)
    return [*runs[:-1], named(alone, HOSTILE, name=f"x{HOSTILE}")]
