"""Tasks that are given in Python: the same record for the same arrays, and one line for what is
none."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedbench as fb
from fedbench import own_models, registry
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import MissingDataError, UsageError
from fedbench.results.record import Record
from fedbench.scenarios.load import load
from fedbench.tasks import given

SMALL = ["clients=4", "budget.updates=4", "local.steps=2", "partition.kind=iid", "public=null"]
DRAWN = np.random.default_rng(0)
Y = np.arange(120) % 3
X = (DRAWN.normal(size=(120, 4)) + Y[:, None]).astype(np.float32)


def task(shift: float = 0.0, **more: Any) -> fb.Task:
    return fb.Task((X[:90] + np.float32(shift), Y[:90]), (X[90:], Y[90:]), **more)


def record(of: fb.Task, *more: str, scenario: str = "digits-demo") -> Record:
    (found,) = fb.run(scenario, "fedavg[cohort_size=2]", overrides=[*SMALL, *more], task=of)
    return found


def test_the_same_arrays_are_the_same_run() -> None:
    one, again, other = record(task()), record(task()), record(task(0.5))
    assert (one.run_id, one.digests) == (again.run_id, again.digests)
    assert one.run_id != other.run_id
    assert one.spec.scenario.task.name.startswith("given:")
    assert (one.spec.scenario.task.model, one.provenance.trainer) == ("softmax", "native")
    assert record(task(classes=5)).run_id != one.run_id
    assert fb.plan("digits-demo", "fedavg[cohort_size=2]", overrides=SMALL, task=task()).updates == 4


def test_what_a_run_gets_are_the_arrays() -> None:
    held = given.dataset(task().name)
    assert (held.train.x.tobytes(), held.test.y.tolist(), held.classes) == (X[:90].tobytes(), Y[90:].tolist(), 3)
    owned = fb.Task((X[:90], Y[:90], Y[:90] * 2), (X[90:], Y[90:]))
    assert given.dataset(owned.name).owners == 3
    found = record(owned, "partition={kind: natural}", "clients=3")
    assert found.state == "finished"


def test_the_training_examples_are_none_for_testing() -> None:
    order = DRAWN.permutation(len(Y))
    with pytest.raises(
        UsageError, match="task test: has the 120 examples of the training data, so that a test accuracy would be"
    ):
        fb.Task((X, Y), (X[order], Y[order]))
    fb.Task((X, Y), (X, (Y + 1) % 3))  # other labels
    fb.Task((X, Y), (X[:119], Y[:119]))  # a part in common


def test_images_get_the_axes_of_the_model() -> None:
    images = np.zeros((12, 28, 28))
    labels = np.arange(12) % 10
    of = fb.Task((images, labels), (images[:10], labels[:10]), model="cnn_21840", classes=10)
    setup = RunSpec(load("digits-demo", [of.setting, *SMALL]), registry.algorithm("fedavg"), 0)
    from fedbench.engine.setup import Setup

    assert Setup(setup).task.dataset.shape == (1, 28, 28)


def test_a_record_is_verified_where_the_arrays_are(monkeypatch: pytest.MonkeyPatch) -> None:
    found = record(task())
    assert verify(found).verdict == "identical"
    monkeypatch.setattr(given, "_HELD", {})
    with pytest.raises(MissingDataError, match=r"task given:.*make fedbench.Task of the same arrays first"):
        verify(found)
    task()
    assert verify(found).verdict == "identical"


@pytest.mark.extra("torch")
def test_a_class_in_python_is_named_by_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And another process gets class and arrays with the run."""
    (tmp_path / "nets_given_in_python.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Sequential):\n    def __init__(self, input_shape, classes):\n"
        "        super().__init__(nn.Linear(input_shape[0], 7), nn.GELU(), nn.Linear(7, classes))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import nets_given_in_python  # type: ignore[import-not-found]

    of = task(model=nets_given_in_python.Net)
    assert of.model == "nets_given_in_python:Net"
    found = record(of)
    assert (found.provenance.trainer, found.spec.scenario.task.model) == ("torch", "nets_given_in_python:Net")
    assert verify(found, model="nets_given_in_python:Net").verdict == "identical"
    sent = pickle.dumps(RunSpec(found.spec.scenario, registry.algorithm("fedavg"), 0))
    monkeypatch.setattr(own_models, "_NAMED", {})
    monkeypatch.setattr(given, "_HELD", {})
    assert [one.kind for one in pickle.loads(sent).own] == ["model"]
    assert given.is_given(next(iter(given._HELD)))
    with pytest.raises(UsageError, match="expected a class or function at the top of a file"):
        task(model=lambda: nets_given_in_python.Net((4,), 3))


NET_THAT_CHANGES = """\
from functools import cache


@cache
def other():
    return 1


class Net:
    @staticmethod
    def width():
        return 7
"""


def test_a_file_that_was_changed_after_its_import_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record would have the sum of what was not run."""
    file = tmp_path / "nets_that_change.py"
    file.write_text(NET_THAT_CHANGES)
    monkeypatch.syspath_prepend(str(tmp_path))
    import nets_that_change  # type: ignore[import-not-found]

    assert task(model=nets_that_change.Net).model == "nets_that_change:Net"
    file.write_text(NET_THAT_CHANGES.replace("7", "8"))
    with pytest.raises(UsageError, match="its file was changed after it was imported; start Python again"):
        task(model=nets_that_change.Net)
    with pytest.raises(UsageError, match="its file was changed after it was imported; start Python again"):
        own_models.named("nets_that_change:Net").found()


@pytest.mark.extra("torch")
def test_a_data_set_of_torch() -> None:
    from torch import from_numpy
    from torch.utils.data import TensorDataset

    train, test = (TensorDataset(from_numpy(X[rows]), from_numpy(Y[rows])) for rows in (slice(90), slice(90, None)))
    assert fb.Task(train, test).name == task().name


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ((X, Y, Y, Y), r"task train: expected \(features, labels\) or \(features, labels, owners\), got 4 arrays"),
        ((X, Y / 2), r"task train: labels must be whole numbers \(n,\), got float64 \(120,\)"),
        ((X, Y[:, None]), r"task train: labels must be whole numbers \(n,\), got int64 \(120, 1\)"),
        ((X, Y - 1), r"task train: labels must be from 0 to 99999, got -1 to 1"),
        ((X, Y, Y.astype(str)), r"task train: owners must be whole numbers \(n,\), got <U"),
        ((X, Y[:5]), r"examples: y must be \(120,\), one label per row of x"),
        ((["a"], [0]), r"task train: features must be numbers, got <U1"),
        (([[1, 2], [3]], [0, 1]), r"task train: features must be numbers of one shape: "),
        (X, r"task train: expected arrays \(features, labels\), or a data set of torch, got ndarray"),
        (3, r"task train: expected arrays \(features, labels\), or a data set of torch, got int"),
        ([1, 2], r"task train: example 0 must be a pair of features and a label, got 1"),
        ((X * np.nan, Y), r"data set given, train: x\[0\] is not finite"),
        ((X[:0], Y[:0]), r"task train: has no examples"),
        (
            (X.astype("datetime64[s]"), Y),
            r"task train: features must be numbers, got datetime64\[s\]; make numbers of them first",
        ),
        ((X * 1j, Y), r"task train: features must be numbers, got complex"),
        ((X.astype(str), Y), r"task train: features must be numbers, got <U"),
        ((np.ma.masked_greater(X, 2), Y), r"task train: features: \d+ values are masked; remove these examples or fill them in"),
        ((X, np.ma.masked_equal(Y, 2)), r"task train: labels: 40 values are masked"),
        ((X * np.float64(1e300), Y), r"data set given, train: x\[0\] is not finite"),
        ((X, Y * 0), r"task test: label 1 is that of no training example"),
        ((X[:, :2], Y), r"an example is \(2,\) in train, \(4,\) in test"),
    ],
)
def test_one_line_for_what_is_no_data(train: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fb.Task(train, (X, Y))


@pytest.mark.extra("torch")
def test_a_tensor_with_a_gradient() -> None:
    from torch import from_numpy

    with pytest.raises(
        UsageError, match=r"task train: features must be numbers of one shape: Can't call numpy\(\) on Tensor that req"
    ):
        fb.Task((from_numpy(X).requires_grad_(), Y), (X[:9], Y[:9]))


@pytest.mark.parametrize("classes", ["3", 1, 3.0, True, 1_000_000])
def test_what_is_no_number_of_classes(classes: Any) -> None:
    with pytest.raises(UsageError, match=f"task classes: expected a whole number from 2 to 100000, got {classes!r}"):
        task(classes=classes)


def test_one_class_is_none() -> None:
    with pytest.raises(UsageError, match="data set given: classes must be >= 2, got 1"):
        fb.Task((X, Y * 0), (X[:9], Y[:9] * 0))


def test_owners_need_not_be_numbered_one_after_the_other() -> None:
    of = fb.Task((X, Y, np.where(Y == 0, 3, 900)), (X[:9], Y[:9]))
    with pytest.raises(UsageError, match=r"of 2 owners 2 have so many; lower min_examples or ask for fewer clients"):
        record(of, "partition={kind: natural}", "clients=3")


def test_a_test_label_that_no_training_example_has() -> None:
    """Unless it is said how many classes there are: data may lack some."""
    x, train, test = np.zeros((6, 2), np.float32), np.array([0, 1, 2, 0, 1, 2]), np.array([0, 1, 7, 0, 1, 7])
    with pytest.raises(UsageError, match=r"task test: label 7 is that of no training example; .* such as classes=8"):
        fb.Task((x, train), (x, test))
    assert given.dataset(fb.Task((x, train), (x, test), classes=8).name).classes == 8
