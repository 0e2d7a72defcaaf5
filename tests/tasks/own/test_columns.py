"""Features and keys of columns: what is a number, what belongs together, and where something is
wrong."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.tasks.own.arrow_columns import ArrowColumn
from fedbench.tasks.own.columns import ArrayColumn, Column, Numbering, Place

PLACE = Place("mine.npz", "x", 40)


def numbered(*parts: Column, missing: Collection[int | str] = (), most: int = 100) -> tuple[list[Any], list[int]]:
    numbering = Numbering("mine.npz", "x", most, missing)
    for part in parts:
        numbering.add(part)
    values, codes = numbering.done()
    return values, codes.tolist()


def array(values: Any, row: int = 0) -> ArrayColumn:
    return ArrayColumn(np.array(values), Place("mine.npz", "x", row))


def arrow(values: Any, row: int = 0) -> ArrowColumn:
    return ArrowColumn(values if isinstance(values, pa.Array) else pa.array(values), Place("mine.npz", "x", row))


@pytest.mark.parametrize(
    "values",
    [
        np.array([5, 1, 5], np.uint8),
        np.array([5, 1, 5], np.int64),
        np.array([5.0, 1.0, 5.0], np.float32),
        np.array([5, 1, 5], np.uint64),
    ],
)
def test_equal_labels_of_different_types_are_one(values: Any) -> None:
    assert numbered(array(values)) == numbered(arrow(values)) == ([1, 5], [1, 0, 1])


def test_truth_values_are_whole_numbers_and_texts_are_sorted() -> None:
    assert numbered(array([True, False])) == numbered(arrow([True, False])) == ([0, 1], [1, 0])
    assert numbered(array(["b", "a"]), arrow(["c", "a"])) == (["a", "b", "c"], [1, 0, 2, 0])
    assert numbered(arrow(pa.array(["b", "a"]).dictionary_encode())) == (["a", "b"], [1, 0])
    assert numbered(arrow(pa.array([2**63 + 1, 2**63], pa.uint64()))) == ([2**63, 2**63 + 1], [1, 0])


@given(st.lists(st.one_of(st.lists(st.integers(-9, 9), max_size=5)), max_size=5))
def test_numbers_are_places_in_the_sorted_values(parts: list[list[int]]) -> None:
    values, codes = numbered(*(array(np.array(part, np.int64)) for part in parts))
    whole = [value for part in parts for value in part]
    assert values == sorted(set(whole))
    assert [values[code] for code in codes] == whole


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        ([array([0.0, 1.0]), array([1.0, 0.5])], {}, "column x, row 3 must be a whole number or a text, got 0.5"),
        ([array([0.0, np.nan])], {}, "column x, row 1 must be a whole number or a text, got nan"),
        ([arrow([1, 0]), arrow([1, -1])], {"missing": (-1,)}, "row 3 is -1, which stands for a missing value"),
        ([arrow(["a", "b"]), arrow(["", "a"])], {}, "column x, row 2 is empty; remove the example or fill it in"),
        ([array(["a", "b", ""])], {}, "column x, row 2 is empty; remove the example or fill it in"),
        ([array(np.arange(101))], {}, "has more than 100 different values; are these numbers to predict?"),
        ([arrow(["a", "b" * 1001])], {}, "row 1 must have at most 1000 characters, got 1,001"),
        ([array([1, 2]), array(["a"])], {}, "must be whole numbers or texts, got both"),
        ([arrow([1, 0]), arrow([0, None], 2)], {}, "column x, row 3 is empty"),
        ([arrow([b"a"])], {}, "must be whole numbers or texts, got binary"),
        ([array(np.zeros((2, 2)))], {}, r"must be whole numbers or texts \(n,\), got float64 \(2, 2\)"),
    ],
)
def test_what_is_no_key(parts: list[Column], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        numbered(*parts, **options)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("value", [None, float("inf"), float("nan")])
def test_the_row_is_the_file_s_and_not_that_of_flattened_values(depth: int, value: Any) -> None:
    row: Any = [1.0, 2.0, 3.0]
    bad: Any = [1.0, 2.0, value]
    for _ in range(depth - 1):
        row, bad = [row, row], [row, bad]
    with pytest.raises(UsageError, match=r"column x, row 47 is (empty|not finite)"):
        arrow([row] * 7 + [bad] + [row] * 5, 40).numbers()
    with pytest.raises(UsageError, match=r"column x, row 43 is empty"):
        arrow([row] * 3 + [None], 40).numbers()


def test_lists_of_one_length_are_dimensions() -> None:
    assert arrow([[[1, 2], [3, 4]]] * 3).numbers().shape == (3, 2, 2)
    assert arrow(pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float16(), 2))).numbers().tolist() == [[1, 2]] * 3
    assert arrow([Decimal(1), Decimal(2)]).numbers().tolist() == [1, 2]
    assert arrow(pa.array([[1, 2], [3, 4]])[1:]).numbers().tolist() == [[3, 4]]
    with pytest.raises(UsageError, match="must hold lists of one length, got lengths 1, 2"):
        arrow([[1], [1, 2]]).numbers()


@pytest.mark.parametrize("values", [["a"], [{"a": 1}], [b"a"], [[b"a"]]])
def test_what_is_no_number(values: list[Any]) -> None:
    with pytest.raises(UsageError, match=r"column x.* must"):
        arrow(values).numbers()


def test_too_large_for_float32() -> None:
    for column in (array([0, 1e39], 40), arrow([0, 1e39], 40)):
        with pytest.raises(UsageError, match="row 41 is not finite"):
            column.numbers()
