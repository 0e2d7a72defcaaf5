"""Columns of numbers are in Parquet as pyarrow's own ways have them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedbench.results import arrow

COLUMNS = st.sampled_from(["int32", "int64", "float32", "float64"]).flatmap(lambda kind: arrays(kind, st.integers(0, 20)))


def written(table: pa.Table) -> bytes:
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


@given(COLUMNS)
def test_the_same_bytes_as_pyarrow_writes(column: npt.NDArray[Any]) -> None:
    assert written(arrow.table({"a": column})) == written(pa.table({"a": column}))


@given(COLUMNS, st.lists(st.integers(0, 20)))
def test_what_was_put_in_comes_out(column: npt.NDArray[Any], cuts: list[int]) -> None:
    """Also from several chunks that begin in the middle of a buffer."""
    whole = arrow.table({"a": column})
    parts = pa.concat_tables([whole.slice(0, 0), *(whole.slice(cut) for cut in cuts)])
    found = arrow.numbers(parts.column("a"))
    assert found.dtype == column.dtype
    assert found.tobytes() == b"".join(column[cut:].tobytes() for cut in cuts)


@pytest.mark.parametrize("step", [2, -1])
def test_values_that_lie_apart(step: int) -> None:
    column = np.arange(10.0)[::step]
    assert arrow.numbers(arrow.table({"a": column}).column("a")).tolist() == column.tolist()
