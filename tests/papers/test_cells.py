"""The printed cells and their names."""

from __future__ import annotations

from collections import Counter

import pytest

from fedbench import bibliography
from fedbench.errors import UsageError
from fedbench.papers.cells import PAPERS, cells, chosen, tables


def test_all_cells_are_there() -> None:
    assert len(cells()) == 499
    assert len({cell.name for cell in cells()}) == 499
    assert Counter(cell.paper for cell in cells()) == {"000": 176, "001": 127, "002": 6, "004": 190}
    assert all(bibliography.paper(key) for key in PAPERS.values())


def test_every_cell_has_a_text() -> None:
    assert chosen("000:T1", "8")[0].text == ">880"
    assert chosen("004:T6", "1")[0].text == "61.86 ± 6.05"
    assert chosen("002:TI", "1")[0].text == "-"
    assert chosen("000:T2", "79")[0].text == "lost"
    assert chosen("002:TI", "2")[0].text == "O(1/sqrt(T))"
    with pytest.raises(ValueError, match=r"002:TI:2: expected a number"):
        _ = chosen("002:TI", "2")[0].amount


def test_addresses() -> None:
    assert [cell.name for cell in chosen("001:T1", "1,3-4")] == ["001:T1:1", "001:T1:3", "001:T1:4"]
    assert chosen("wu2021:T1") == chosen("001:T1")
    assert len(chosen("001")) == 127
    assert len(tables(chosen("001"))) == 6
    assert list(chosen()) == list(cells())


@pytest.mark.parametrize(
    ("address", "numbers", "message"),
    [
        ("005", None, r"unknown paper '005'"),
        ("wu2012", None, r"unknown paper 'wu2012'; did you mean 'wu2021'"),
        ("001:T9", None, r"unknown table 'T9' of paper 001.*known: T1, T2"),
        ("001:T1", "9", r"expected cells 1 to 8, got '9'"),
        ("001:T1", "3-1", r"expected cells 1 to 8"),
        ("001:T1", "one", r"expected numbers and ranges"),
        ("001:T1", "", r"expected numbers and ranges"),
        ("001", "1", r"expected a table after '001'"),
        (None, "1", r"expected PAPER:TABLE"),
    ],
)
def test_wrong_addresses(address: str | None, numbers: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chosen(address, numbers)


def test_a_list_stands_for_any_of_its_members() -> None:
    cell = chosen("000:T1", "1")[0]
    assert cell.matches({"n": [10, 20], "algorithm": "FedAvg"})
    assert not cell.matches({"n": 20})
    assert not cell.matches({"no": 1})
