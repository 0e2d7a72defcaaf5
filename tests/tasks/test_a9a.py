"""a9a: small files in LIBSVM's text format, and the 248-parameter model on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import MissingDataError, RecordError
from fedbench.tasks import a9a
from fedbench.tasks.model_library import make_model

# As in the true files: signs on labels, a space at the end of a line, and one row of the test file
# without features.
TRAIN = "-1 3:1 11:1 83:1 \n+1 5:1 7:1 14:1 \n-1 1:1 123:1 \n"
TEST = "+1 2:1 \n-1 \n"
COUNTS = {"a9a": (3, 1), "a9a.t": (2, 1)}


def write(root: Path, train: str = TRAIN, test: str = TEST) -> Path:
    (root / "a9a").mkdir(exist_ok=True)
    (root / "a9a" / "a9a").write_text(train)
    (root / "a9a" / "a9a.t").write_text(test)
    return root


def test_reads_dense_rows(tmp_path: Path) -> None:
    data = a9a.dataset(COUNTS, write(tmp_path))
    assert (data.train.x.shape, data.test.x.shape, data.classes) == ((3, 123), (2, 123), 2)
    assert [np.flatnonzero(row).tolist() for row in (*data.train.x, *data.test.x)] == [[2, 10, 82], [4, 6, 13], [0, 122], [1], []]
    assert (data.train.x.sum(), data.train.x.dtype) == (8, np.float32)
    assert (data.train.y.tolist(), data.test.y.tolist()) == ([0, 1, 0], [1, 0])


def test_the_model_of_the_paper_has_248_parameters() -> None:
    assert make_model("softmax", (a9a.FEATURES,), a9a.CLASSES).dim == 248


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (TRAIN + "-1 4:1 \n", r"must have 3 rows, 1 of them \+1, got 4 and 1; fetch it again"),
        (TRAIN.replace("-1 3", "+1 3"), r"must have .* got 3 and 2"),
        (TRAIN.replace("123:1", "124:1"), r"not in LIBSVM's text format with features 1 \.\. 123 "),
        (TRAIN.replace("3:1 11", "0:1 11"), r"not in LIBSVM's text format"),
        (TRAIN.replace("3:1", "three"), r"not in LIBSVM's text format"),
        (TRAIN.replace("3:1", "3:"), r"not in LIBSVM's text format .*row 0"),
        (TRAIN.replace("-1 ", "minus "), r"not in LIBSVM's text format"),
        (TRAIN.replace("-1 ", "0 "), r"labels must be -1 or \+1, got 0, 1"),
    ],
)
def test_other_files_are_refused(train: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=rf"a9a: {message}"):
        a9a.dataset(COUNTS, write(tmp_path, train))


def test_the_true_files_have_stated_numbers() -> None:
    assert a9a.COUNTS == {"a9a": (32_561, 7_841), "a9a.t": (16_281, 3_846)}
    assert [round(100 * positive / rows, 2) for rows, positive in a9a.COUNTS.values()] == [24.08, 23.62]


def test_missing_and_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(url: str, file: Path) -> None:
        if url.endswith("a9a.t") and not calls:
            calls.append(url)
            raise OSError("no route")
        file.write_text(TEST if url.endswith(".t") else TRAIN)

    calls: list[str] = []
    monkeypatch.setattr("urllib.request.urlretrieve", fetch)
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    monkeypatch.delenv("FEDBENCH_DOWNLOAD", raising=False)
    with pytest.raises(MissingDataError, match=r"looked in .*a9a \(no such folder\).*FEDBENCH_DOWNLOAD=1"):
        a9a.dataset(COUNTS)
    monkeypatch.setenv("FEDBENCH_DOWNLOAD", "1")
    with pytest.raises(MissingDataError, match=r"binary/a9a\.t could not be fetched into .* \(no route\)"):
        a9a.dataset(COUNTS)
    assert len(a9a.dataset(COUNTS).train) == 3
    assert sorted(file.name for file in (tmp_path / "a9a").iterdir()) == ["a9a", "a9a.t"]
