"""The server's work in records and archives: kept to the bit, absent where it was not counted, and
refused where it contradicts the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedbench.engine.compare import differences
from fedbench.errors import RecordError
from fedbench.launch.runner import run
from fedbench.results import archive
from fedbench.results.consistent import check_consistent
from fedbench.results.record import CURVES, SERVER_CURVE, Curves, Record, result_digest, server_digest, with_results
from fedbench.results.sections import SERVER_LEDGER
from tests.conftest import altered

SMALL = ["budget.seconds=4", "task.model=softmax"]


@pytest.fixture(scope="module")
def fedecho() -> Record:
    (record,) = run("digits-demo", "fedecho[buffer_size=4]", overrides=SMALL)
    return record


@pytest.fixture(scope="module")
def fedbuff() -> Record:
    (record,) = run("digits-demo", "fedbuff[buffer_size=4]", overrides=SMALL)
    return record


def with_curves(record: Record, curves: Curves) -> Record:
    return record.model_copy(update={"curves": curves})


def check(record: Record) -> None:
    check_consistent(record, "it")


def test_the_digest_over_results_leaves_it_out_and_another_covers_it(fedecho: Record) -> None:
    without = fedecho.ledger.model_copy(update=dict.fromkeys(SERVER_LEDGER))
    assert result_digest(fedecho.model_copy(update={"ledger": without})) == fedecho.digests.result
    more = {**fedecho.curves, SERVER_CURVE: fedecho.curves[SERVER_CURVE] + 1}
    assert server_digest(with_curves(fedecho, more)) != fedecho.digests.server == server_digest(fedecho)


def test_an_archive_gives_every_run_its_own_columns(tmp_path: Path, fedecho: Record, fedbuff: Record) -> None:
    archive.write(tmp_path / "both", [fedecho, fedbuff])
    for record in (fedecho, fedbuff):
        (found,) = (one for one in archive.read(tmp_path / "both") if one.run_id == record.run_id)
        assert found.as_dict() == record.as_dict()
        assert set(found.curves) == set(record.curves)
        assert all(np.array_equal(found.curves[name], column, equal_nan=True) for name, column in record.curves.items())
    archive.write(tmp_path / "without", [fedbuff])
    assert tuple(pq.read_schema(tmp_path / "without" / archive.CURVES_FILE).names) == CURVES


def test_an_archive_with_work_of_a_server_that_has_none(fedbuff: Record, tmp_path: Path) -> None:
    archive.write(tmp_path, [with_curves(fedbuff, {**fedbuff.curves, SERVER_CURVE: np.arange(5)})])
    with pytest.raises(
        RecordError, match=r"run .*: curves.server_passes: expected zeros, since its ledger has no work of the server"
    ):
        archive.read(tmp_path)


@pytest.mark.parametrize("kind", [pa.float64(), pa.int32()])
def test_a_column_of_another_kind(kind: Any, fedecho: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({name: pa.array(column) for name, column in fedecho.curves.items()})
    odd = table.set_column(table.column_names.index(SERVER_CURVE), SERVER_CURVE, table[SERVER_CURVE].cast(kind))
    monkeypatch.setattr(archive.pa, "table", lambda columns, given=pa.table: odd if SERVER_CURVE in columns else given(columns))
    archive.write(tmp_path, [fedecho])
    with pytest.raises(RecordError, match=r"column 'server_passes': expected int64, got"):
        archive.read(tmp_path)


def changed(record: Record, **changes: Any) -> Record:
    """With other entries in the ledger, None for none, and with digests that fit."""
    curves = {**record.curves, **changes.pop("curves", {})}
    return with_results(with_curves(record.model_copy(update={"ledger": record.ledger.model_copy(update=changes)}), curves))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"server_forward_examples": None}, "ledger.server_forward_examples"),
        ({"public_logits_vectors": None}, "ledger.public_logits_vectors"),
        ({"server_busy_seconds": 1.0}, "ledger.server_busy_seconds"),
        ({"server_gradient_examples": 1}, "curves.server_passes"),
        ({"curves": {SERVER_CURVE: np.array([0, 9, 8, 9, 9])}}, "curves.server_passes"),
        ({"curves": {SERVER_CURVE: np.array([-1, 9, 9, 9, 9])}}, "curves.server_passes"),
    ],
)
def test_work_that_contradicts_itself(changes: dict[str, Any], field: str, fedecho: Record) -> None:
    check(fedecho)
    with pytest.raises(RecordError, match=f"it: {field}: the rest of the record gives"):
        check(changed(fedecho, **changes))


@pytest.mark.parametrize("value", [[1, 2], -1, "many", 0.5])
def test_work_that_is_no_number_of_examples(value: Any, fedecho: Record) -> None:
    with pytest.raises(RecordError, match=r"altered: ledger.server_forward_examples: "):
        altered(fedecho, {"ledger.server_forward_examples": value})


def test_work_without_its_digest_and_a_digest_without_work(fedecho: Record, fedbuff: Record) -> None:
    digests = fedecho.digests.model_copy(update={"server": None})
    with pytest.raises(RecordError, match=r"it: digests.server: .*, it says None"):
        check(fedecho.model_copy(update={"digests": digests}))
    with pytest.raises(RecordError, match=r"it: digests.server: the rest of the record gives None, it says '00"):
        check(altered(fedbuff, {"digests.server": "0" * 32}))


def test_other_work_is_a_difference(fedecho: Record, fedbuff: Record) -> None:
    forged = changed(fedecho, server_forward_examples=10**9)
    assert differences(fedecho, forged) == ["digests.server", "ledger.server_forward_examples"]
    column = fedecho.curves[SERVER_CURVE].copy()
    column[3] += 1
    assert differences(fedecho, changed(fedecho, curves={SERVER_CURVE: column})) == ["digests.server", "curves.server_passes[3]"]
    without = {name: fedecho.curves[name] for name in CURVES}
    assert "curves.server_passes" in differences(fedecho, with_curves(fedecho, without))
