"""Facts of configuration, against the code."""

from __future__ import annotations

import pytest

from fedbench.papers import experiment, facts
from fedbench.papers.cells import Cell, cells, chosen

FACTS = [one for one in cells() if experiment.table(one).kind == "configuration"]


def test_there_are_as_many_as_are_printed() -> None:
    assert len(FACTS) == 112 + 20 + 12 + 100


@pytest.mark.parametrize("of", sorted({one.of for one in FACTS}))
def test_the_code_has_what_is_printed(of: str) -> None:
    for one in chosen(of):
        if one.value is not None:
            assert facts.ours(one)[0] == one.value, one.name


def test_another_number_would_be_seen() -> None:
    """The code's number does not come from the cell."""
    one = chosen("001:T4", "3")[0]
    other = Cell(one.paper, one.table, one.number, one.setting, one.metric, value=663_000)
    assert facts.ours(other) == (663_936.0, "model alexnet")
