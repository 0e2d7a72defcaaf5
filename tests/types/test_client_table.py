"""ClientTable: a sparse table that behaves like a dense one."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench.tables import ClientTable

DETERMINISTIC = settings(derandomize=True, deadline=None, max_examples=100, database=None)
ROW = 3
values = st.lists(st.integers(-1000, 1000), min_size=ROW, max_size=ROW)
writes = st.lists(st.tuples(st.integers(0, 199), values), max_size=120)


def row(numbers: Any, dtype: Any = np.float32) -> Any:
    return np.array(numbers, dtype)


@DETERMINISTIC
@given(st.sampled_from([np.float32, np.float64]), values, writes, st.booleans())
def test_equals_a_dense_table(dtype: Any, default: list[int], sequence: list[tuple[int, list[int]]], spill: bool) -> None:
    """Whole numbers, so that every sum is exact."""
    table = ClientTable(200, row(default, dtype), spill_bytes=0 if spill else 1 << 30)
    dense = np.tile(row(default, dtype), (200, 1))
    for client, numbers in sequence:
        table[client] = row(numbers, dtype)
        dense[client] = numbers
    written = list(dict.fromkeys(client for client, _ in sequence))
    assert table.written() == written
    assert table.count == len(written)
    assert table.dense().dtype == dtype
    assert np.array_equal(table.dense(), dense)
    assert np.array_equal(table.sum, dense.sum(axis=0))
    assert table.sum.dtype == table.mean().dtype == dtype
    assert np.array_equal(table.mean(), (dense.astype(np.float64).sum(axis=0) / 200).astype(dtype))

    copy = ClientTable.restore(table.snapshot())
    assert np.array_equal(copy.dense(), dense)
    assert copy.written() == written
    assert np.array_equal(copy.sum, table.sum)


@DETERMINISTIC
@given(st.lists(st.tuples(st.integers(0, 4), st.none() | values), max_size=60))
def test_rows_that_are_left_out_are_not_in_the_sum_until_they_are_written(sequence: list[tuple[int, list[int] | None]]) -> None:
    """None leaves a client out. Whole numbers, so that every sum is exact."""
    table, dense, counts = ClientTable(5, row([1, 2, 3])), np.tile(row([1, 2, 3]), (5, 1)), np.ones((5, 1))
    for client, numbers in sequence:
        if numbers is not None:
            table[client] = row(numbers)
            dense[client], counts[client] = numbers, 1
        elif counts[client]:
            table.leave_out(client)
            counts[client] = 0
        else:
            with pytest.raises(ValueError, match=f"client {client} is left out already"):
                table.leave_out(client)
    copy = ClientTable.restore(table.snapshot())
    for one in (table, copy):
        assert np.array_equal(one.dense(), dense)
        assert np.array_equal(one.sum, (counts * dense).sum(axis=0))
        for client in range(5):
            one[client] = row([0, 0, 0])
        assert not one.total.any()


def test_absent_rows_read_as_the_default() -> None:
    default = row([1, 2, 3])
    table = ClientTable(5, default)
    default[:] = 9  # the table has its own copy
    assert table[4].tolist() == [1, 2, 3]
    assert (table.count, table.written(), table.bytes) == (0, [], 0)
    assert table.sum.tolist() == [5, 10, 15]
    assert table.mean().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        table[4][0] = 7


def test_a_row_is_copied_when_written() -> None:
    table, mine = ClientTable(2, row([0, 0, 0])), row([1, 2, 3])
    table[1] = mine
    mine[:] = 9
    assert table[1].tolist() == [1, 2, 3]
    assert table[0].tolist() == [0, 0, 0]
    table[0] = table[1]
    assert table.dense().tolist() == [[1, 2, 3], [1, 2, 3]]


def test_the_sum_does_not_drift() -> None:
    """1e4 comes and goes: a float32 sum would lose the digits of the small row."""
    table = ClientTable(2, np.zeros(1, np.float32))
    table[0] = np.array([0.1], np.float32)
    for _ in range(1000):
        table[1] = np.array([1e4], np.float32)
        table[1] = np.array([0], np.float32)
    assert table.sum[0] == np.float32(0.1)


@pytest.mark.parametrize(
    "bad", [np.zeros(3), np.zeros(3, np.int32), np.zeros(2, np.float32), np.zeros((1, 3), np.float32), np.zeros((), np.float32)]
)
def test_wrong_rows_are_refused(bad: Any) -> None:
    table = ClientTable(2, row([1, 1, 1]))
    with pytest.raises(TypeError, match=r"client table: expected float32 \(3,\), got .* for client 1"):
        table[1] = bad
    assert table.count == 0
    assert table.sum.tolist() == [2, 2, 2]


@pytest.mark.parametrize("client", [-1, 2, 100])
def test_wrong_clients_are_refused(client: int) -> None:
    table = ClientTable(2, row([1, 1, 1]))
    with pytest.raises(IndexError, match=rf"client must be in 0 .. 1, got {client}"):
        table[client] = row([0, 0, 0])


@pytest.mark.parametrize("client", [-1, 2])
def test_reading_wrong_clients_is_refused(client: int) -> None:
    with pytest.raises(IndexError):
        ClientTable(2, row([1, 1, 1]))[client]


def test_a_locked_table_is_not_written() -> None:
    table = ClientTable(2, row([1, 1, 1]))
    table.writeable = False
    with pytest.raises(PermissionError, match="step may overwrite rows only under Rounds and Poll"):
        table[0] = row([0, 0, 0])
    assert table.dense().tolist() == [[1, 1, 1], [1, 1, 1]]


def test_rows_of_any_shape() -> None:
    table = ClientTable(3, np.zeros((2, 2)))
    table[2] = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert table.sum.tolist() == [[1, 2], [3, 4]]
    assert ClientTable.restore(table.snapshot()).dense().shape == (3, 2, 2)


def fill(table: ClientTable, rows: Any) -> None:
    for client, values_of in enumerate(rows):
        table[client] = values_of


def test_spilling_keeps_the_content() -> None:
    """Blocks of 64 rows of 100 float32: 25600 bytes each; after two of them new ones are mapped
    files."""
    rows = np.random.default_rng(0).standard_normal((300, 100)).astype(np.float32)
    spilled, plain = (ClientTable(300, np.zeros(100, np.float32), spill_bytes=size) for size in (50_000, 1 << 30))
    fill(spilled, rows)
    fill(plain, rows)
    assert [isinstance(block, np.memmap) for block in spilled._blocks] == [False, False, True, True, True]
    assert not any(isinstance(block, np.memmap) for block in plain._blocks)
    assert spilled.bytes == plain.bytes == 5 * 64 * 400
    assert np.array_equal(spilled.dense(), rows)
    assert spilled.sum.tobytes() == plain.sum.tobytes()
    rewritten = rows[::-1].copy()
    fill(spilled, rewritten)
    assert np.array_equal(spilled.dense(), rewritten)
    assert np.array_equal(ClientTable.restore(spilled.snapshot()).dense(), rewritten)


def test_spilling_leaves_no_file_open() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        table = ClientTable(2, row([0, 0, 0]), spill_bytes=0)
        table[0] = row([1, 2, 3])
        gc.collect()
    assert [str(w.message) for w in seen] == []


def test_rows_of_a_snapshot_are_a_copy() -> None:
    table = ClientTable(2, row([0, 0, 0]))
    table[0] = row([1, 2, 3])
    snapshot = table.snapshot()
    table[0] = row([7, 7, 7])
    table[1] = row([7, 7, 7])
    assert ClientTable.restore(snapshot).dense().tolist() == [[1, 2, 3], [0, 0, 0]]


def test_the_sum_of_a_snapshot_is_a_copy() -> None:
    table = ClientTable(2, row([0, 0, 0]))
    snapshot = table.snapshot()
    table[0] = row([7, 7, 7])
    assert ClientTable.restore(snapshot).sum.tolist() == [0, 0, 0]


def test_a_restored_table_lives_on() -> None:
    table = ClientTable(4, row([1, 0, 0]))
    table[3] = row([2, 2, 2])
    copy = ClientTable.restore(table.snapshot())
    copy[0] = row([5, 5, 5])
    assert copy.sum.tolist() == [9, 7, 7]
    assert table.sum.tolist() == [5, 2, 2]
