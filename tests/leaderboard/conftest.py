import pytest

from tests.leaderboard.reading import HOSTILE


@pytest.fixture
def board(record):
    """Ties, one that misses, one that diverges, and a second scenario with one seed and hostile
    names."""
    best = [record("fedavg", seed, [0.1, 0.7, 0.85, 0.90 + 0.01 * seed]) for seed in range(3)]
    tied = [record("fedbuff[buffer_size=10]", seed, [0.1, 0.8, 0.85, 0.92 - 0.02 * seed]) for seed in range(3)]
    misses = [record("slow", 0, [0.1, 0.5, 0.8, 0.8, 0.8]), *(record("slow", s, [0.1, 0.2, 0.3, 0.4, 0.5]) for s in (1, 2))]
    broken = [record("wild", 0), record("wild", 1), record("wild", 2, [0.1, 0.5], state="diverged", test_accuracy=None)]
    alone = [record(HOSTILE, 7, scenario=f"x{HOSTILE}", scenario_hash="abad1dea")]
    return [*best, *tied, *misses, *broken, *alone]
