"""Who has which examples, in arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedbench.shards import Shards


@given(st.lists(st.lists(st.integers(0, 50), max_size=6), min_size=1, max_size=8))
def test_as_a_sequence_it_is_what_it_was_made_of(parts: list[list[int]]) -> None:
    shards = Shards.of([np.array(part, np.int64) for part in parts])
    assert len(shards) == len(parts)
    assert [rows.tolist() for rows in shards] == parts
    assert [shards[i].tolist() for i in range(len(parts))] == parts
    assert [rows.tolist() for rows in shards[1:]] == parts[1:]
    assert shards.sizes.tolist() == [len(part) for part in parts]
    assert Shards.of(shards) is shards
    assert [rows.tolist() for rows in shards.among(np.arange(60) * 2)] == [[2 * row for row in part] for part in parts]


@given(st.data())
def test_labels_of_views_that_overlap(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 30))
    rows = np.array(data.draw(st.permutations(range(n))))
    begin = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=9)))
    sizes = np.array([data.draw(st.integers(0, n - b)) for b in begin.tolist()])
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    shards = Shards(rows, begin, sizes)
    want = [np.bincount(labels[one], minlength=4).tolist() for one in shards]
    assert shards.labels(labels, 4).tolist() == want
