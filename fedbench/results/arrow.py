"""Columns of numbers between numpy and pyarrow, without the ways of pyarrow that import pandas
where it is installed: that costs a short run time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Column = npt.NDArray[Any]


def table(columns: Mapping[str, Column]) -> pa.Table:
    """Returns the table of these columns (n,), each of integers or floating-point numbers."""
    return pa.table({name: _array(np.ascontiguousarray(values)) for name, values in columns.items()})


def _array(values: Column) -> pa.Array:
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def numbers(column: pa.ChunkedArray) -> Column:
    """Returns a column (n,) of integers or floating-point numbers, none of them missing."""
    parts = [part(chunk) for chunk in column.chunks]
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, column.type.to_pandas_dtype()), *parts])


def part(array: pa.Array) -> Column:
    """Returns an array (n,) of such numbers as numpy has it, in the memory of the array."""
    kind = np.dtype(array.type.to_pandas_dtype())
    return np.frombuffer(array.buffers()[1] or b"", kind, len(array), array.offset * kind.itemsize)
