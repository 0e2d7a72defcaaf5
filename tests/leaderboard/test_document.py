"""The document that the page is made from."""

from fedbench.leaderboard.document import of_records


def test_rows_begin_with_the_fastest_and_misses_are_sorted_by_hits_before_accuracy(record):
    """`a_none` is the most accurate of those whose median seed missed, but never reaches the
    target; names do not count."""
    fast = [record("m_fast", seed, [0.1, 0.8, 0.8, 0.8, 0.8]) for seed in range(3)]
    later = [record("b_later", seed, [0.1, 0.2, 0.8, 0.9, 0.9]) for seed in range(3)]
    one = [record("z_one", seed, [0.1, 0.2, *([0.8] * 3 if seed == 0 else [0.3] * 3)]) for seed in range(3)]
    none = [record("a_none", seed, [0.1, 0.7, 0.75, 0.79, 0.79]) for seed in range(3)]
    (scenario,) = of_records([*none, *one, *later, *fast], "title").sections["given"].values()
    assert [row.selector for row in scenario.rows] == ["m_fast", "b_later", "z_one", "a_none"]
