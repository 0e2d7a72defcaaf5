import pytest

from fedbench.analysis.axes import AXES, along, find
from fedbench.errors import RecordError, UsageError


def test_by_name_by_column_and_by_another_word():
    assert find("updates") is find("version") is find("rounds") is AXES["updates"]
    assert find("gradient-evaluations") is AXES["gradient_evaluations"]
    assert find(AXES["bytes"]) is AXES["bytes"]


def test_an_unknown_axis_has_a_nearest_one():
    with pytest.raises(UsageError, match="unknown axis 'byte'; did you mean 'bytes'"):
        find("byte")


def test_along_reads_its_own_column(record):
    run = record(curve=[0.1, 0.2, 0.3])
    assert along(run, AXES["seconds"]).tolist() == [0.0, 5.0, 10.0]
    assert along(run, AXES["updates"]).tolist() == [0.0, 10.0, 20.0]
    assert along(run, AXES["gradient_evaluations"]).tolist() == [0.0, 100.0, 200.0]
    assert along(run, AXES["bytes"]).tolist() == [0.0, 1000.0, 2000.0]


def test_an_older_record_lacks_one_axis_only(record):
    run = record()
    del run.curves["gradient_evaluations"]
    with pytest.raises(RecordError, match=r"fedavg, seed 0\): its curves have no column 'gradient_evaluations'.*another axis"):
        along(run, AXES["gradient_evaluations"])
    assert len(along(run, AXES["steps"])) == 4


def test_titles():
    assert [AXES[name].title for name in ("seconds", "updates", "bytes")] == ["virtual time (s)", "server updates", "traffic (B)"]
