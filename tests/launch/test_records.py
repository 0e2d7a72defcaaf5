"""Records as a notebook and a prompt show them, and those of a store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import fedbench as fb
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import Record

Make = Callable[..., Record]


def test_short_in_words(record: Make) -> None:
    few = fb.Records([record("fedavg", 0), record("fedavg", 1), record("fedbuff[buffer_size=5]", 0)])
    assert repr(few) == "Records(3, slow_tail, fedavg, fedbuff[buffer_size=5], 2 seeds)"
    many = fb.Records([record(f"fedbuff[buffer_size={m}]", seed) for m in range(40) for seed in range(3)])
    assert repr(many) == "Records(120, slow_tail, 40 algorithms, 3 seeds)"
    assert repr(fb.Records([])) == "Records(0)"
    assert repr(few[0]) == "Record(slow_tail, fedavg, seed 0, finished)"


def test_a_table_in_a_notebook(record: Make) -> None:
    page = fb.Records([record("fedbuff[x=<b>]", curve=(0.1, 0.2)), record("fedavg", curve=())])._repr_html_()
    assert "<table" in page
    assert "seconds_to_0.8" in page
    assert "<b>" not in page
    assert "run_id" not in page
    assert "None" not in page
    assert "<p>Records(0)</p>" in fb.Records([])._repr_html_()


def test_load(storable: Make, tmp_path: Path) -> None:
    """A store, a part of it, or one record."""
    made = [storable("fedavg", 0), storable("fedavg", 1), storable("fedbuff", 0)]
    folders = [fb.Store(tmp_path).write(one) for one in made]
    assert len(fb.Records.load(tmp_path)) == 3
    assert sorted(one.seed for one in fb.Records.load(tmp_path / "slow_tail" / "fedavg")) == [0, 1]
    assert fb.Records.load(folders[2])[0].selector == "fedbuff"
    (folders[0] / "curves.parquet").unlink()
    with pytest.raises(RecordError, match=r"curves[.]parquet is missing"):
        fb.Records.load(tmp_path)
    for place, message in ((tmp_path / "none", "there is no such folder"), (tmp_path / "empty", "a store that has finished")):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(UsageError, match=message):
            fb.Records.load(place)


@pytest.mark.parametrize("wrong", [{"metric": "test_acuracy"}, {"against": "second"}])
@pytest.mark.extra("plot")
def test_unknown_names_of_curves(record: Make, wrong: dict[str, str]) -> None:
    with pytest.raises(
        UsageError, match=r"unknown (metric|axis) '(test_acuracy|second)'; did you mean '(test_accuracy|seconds)'"
    ):
        fb.Records([record()]).plot(**wrong)  # type: ignore[arg-type]
