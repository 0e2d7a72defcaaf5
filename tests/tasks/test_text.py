"""Tasks of texts: small files in the form of MRPC and SST-2, files of one's own, and what is
missing."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import MissingDataError, RecordError, UsageError
from fedbench.tasks import text
from fedbench.tasks.available import missing, models_for, outline
from fedbench.tasks.files import data_root
from fedbench.tasks.text import SOURCES, TextSource

from ..tiny_bert import sentences, write_root, write_tsv

pytest.importorskip("tokenizers")
MINE = TextSource(name="text", train="mine/train.tsv", test="mine/test.tsv", columns=("sentence",), label="label", tokens=12)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    return write_root(tmp_path)


def short(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny encoder has 40 positions; the small files have 3 rows, 2 of them of class 1, and 2
    rows, 1 of class 1."""
    source = SOURCES[name]
    monkeypatch.setitem(SOURCES, name, dataclasses.replace(source, tokens=16, counts=((3, 2), (2, 1))))


def test_mrpc(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header = ("\ufeffQuality", "#1 ID", "#2 ID", "#1 String", "#2 String")
    rows = [(1, 7, 8, 'a "good film', "a film"), (0, 9, 10, "the plot", "bad"), (1, 11, 12, "fine", "fine")]
    write_tsv(root / "mrpc" / "msr_paraphrase_train.txt", rows, header)
    write_tsv(root / "mrpc" / "msr_paraphrase_test.txt", rows[:2], header)
    short("mrpc", monkeypatch)
    task = text.load_mrpc("encoder_lora2", "encoders/tiny")
    assert (task.name, task.dataset.shape, task.dataset.train.y.tolist()) == ("mrpc", (2, 16), [1, 0, 1])
    assert task.dataset.train.x[1].astype(int).tolist() == [[2, 10, 8, 3, 6, 3, *[0] * 10], [0, 0, 0, 0, 1, 1, *[0] * 10]]
    assert sorted(task.files) == [
        *("data/msr_paraphrase_test.txt", "data/msr_paraphrase_train.txt"),
        *("encoder/config.json", "encoder/model.safetensors", "encoder/tokenizer.json"),
    ]
    write_tsv(root / "mrpc" / "msr_paraphrase_test.txt", rows, header)
    with pytest.raises(
        RecordError, match=r"msr_paraphrase_test\.txt: must have 2 rows, 1 of them of class 1, got 3 and 2; it is not"
    ):
        text.load_mrpc("encoder_lora2", "encoders/tiny")


def test_sst2(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tsv(root / "sst2" / "train_full.tsv", [("good film ", 1), ("a dull plot ", 0), ("fine ", 1)])
    write_tsv(root / "sst2" / "dev.tsv", [("bad", 0), ("warm", 1)])
    short("sst2", monkeypatch)
    data = text.load_sst2("encoder_head", "encoders/tiny").dataset
    assert (data.shape, data.train.y.tolist(), data.test.y.tolist(), data.classes) == ((16,), [1, 0, 1], [0, 1], 2)
    assert data.train.x[0].tolist() == [2, 5, 7, 3, *[0] * 12]


def test_files_of_ones_own(root: Path) -> None:
    """As many classes as there are labels; a model of another way to train has the same
    examples."""
    task = text.load("encoder_full", "encoders/tiny", MINE)
    assert (len(task.dataset.train), len(task.dataset.test), task.dataset.classes) == (120, 40, 2)
    write_tsv(root / "mine" / "train.tsv", [(words, i % 4) for i, (words, _) in enumerate(sentences(20))])
    again = text.load("encoder_full", "encoders/tiny", MINE)
    assert (again.dataset.classes, again.model.output_shape) == (4, (4,))
    assert again.files["data/mine/train.tsv"] != task.files["data/mine/train.tsv"]
    assert again.files["data/mine/test.tsv"] == task.files["data/mine/test.tsv"]


def test_the_training_texts_are_none_for_testing(root: Path) -> None:
    for test in ("mine/train.tsv", "mine/copy.tsv"):
        (root / "mine" / "copy.tsv").write_bytes((root / "mine" / "train.tsv").read_bytes())
        with pytest.raises(UsageError, match=f"task.text.test {test}: has the 120 examples of the training data"):
            text.load("encoder_head", "encoders/tiny", dataclasses.replace(MINE, test=test))


def test_another_tokenizer_is_another_entry_of_the_cache(root: Path) -> None:
    """Whose key has the tokenizer's file, the columns and the number of tokens."""
    first = text.load("encoder_head", "encoders/tiny", MINE).dataset
    longer = text.load("encoder_head", "encoders/tiny", dataclasses.replace(MINE, tokens=14)).dataset
    assert (first.shape, longer.shape) == ((12,), (14,))
    assert np.array_equal(first.train.x, text.load("encoder_full", "encoders/tiny", MINE).dataset.train.x)


def test_other_texts_of_the_same_size_and_time_are_another_entry_too(root: Path) -> None:
    """Archives give all files one time."""
    file = root / "mine" / "train.tsv"
    os.utime(file, ns=(1, 1))
    before = text.load("encoder_head", "encoders/tiny", MINE).dataset.train.y
    write_tsv(file, [(words, 1 - label) for words, label in sentences(120)])
    os.utime(file, ns=(1, 1))
    assert text.load("encoder_head", "encoders/tiny", MINE).dataset.train.y.tolist() == (1 - before).tolist()


def test_what_is_missing_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"task text: needs task\.text with the keys train, test, columns and label, got none"):
        text.load("encoder_head", "encoders/tiny")
    with pytest.raises(MissingDataError, match=r"there is no file .*mine/none\.tsv; put it there, or set FEDBENCH_DATA"):
        text.load("encoder_head", "encoders/tiny", dataclasses.replace(MINE, test="mine/none.tsv"))
    with pytest.raises(UsageError, match=r"task\.text: expected a path below the data root"):
        text.load("encoder_head", "encoders/tiny", dataclasses.replace(MINE, train="../train.tsv"))
    for load in (text.load_mrpc, text.load_sst2):
        with pytest.raises(
            MissingDataError, match=r"not on this machine; looked in .* \(no such folder\)\. Put the files of .* has \w+$"
        ):
            load("encoder_head", "encoders/tiny")


def test_outlines_need_no_weights_and_no_data(root: Path) -> None:
    (root / "encoders" / "tiny" / "config.json").write_text(
        (root / "encoders" / "tiny" / "config.json").read_text().replace(": 40", ": 64")
    )
    (root / "encoders" / "tiny" / "model.safetensors").write_bytes(b"never read")
    for name, shape in (("mrpc", (2, 64)), ("sst2", (64,))):
        found = outline(name, "encoder_lora8", "encoders/tiny")
        assert found is not None
        assert (found.model.dim, found.model.input_shape) == (1058, shape)
    assert outline("text", "encoder_lora8", "encoders/tiny") is None
    assert models_for("mrpc") == models_for("text") == ["encoder_full", "encoder_head", "encoder_lora8"]
    assert "mrpc: not on this machine" in missing("mrpc")


@pytest.mark.parametrize("name", ["mrpc", "sst2"])
def test_the_true_files(name: str) -> None:
    """Have the rows that are stated."""
    source, folder = SOURCES[name], data_root() / name
    for file in (source.train, source.test):
        if not (folder / file).is_file():
            pytest.skip(f"no {name}/{file} below FEDBENCH_DATA")
    assert source.counts is not None
    for file, count in zip((source.train, source.test), source.counts, strict=True):
        found = text.read_texts(folder / file, source.columns, source.label)
        assert (len(found.labels), int(found.labels.sum())) == count


@pytest.mark.parametrize(("labels", "classes"), [((1, 5), 2), ((0, 999_999_999), 2), ((7, 3, 5), 3)])
def test_labels_with_gaps_are_numbered_in_their_order(labels: tuple[int, ...], classes: int, root: Path) -> None:
    write_tsv(root / "mine" / "train.tsv", [("good film", labels[i % len(labels)]) for i in range(12)])
    write_tsv(root / "mine" / "test.tsv", [("bad", max(labels)), ("warm", min(labels))])
    data = text.load("encoder_head", "encoders/tiny", MINE).dataset
    assert (data.classes, data.test.y.tolist()) == (classes, [classes - 1, 0])
    assert data.train.y[: len(labels)].tolist() == [sorted(labels).index(label) for label in labels]


def test_a_label_that_only_test_texts_have(root: Path) -> None:
    write_tsv(root / "mine" / "train.tsv", [("good film", 1 + 4 * (i % 2)) for i in range(12)])
    write_tsv(root / "mine" / "test.tsv", [("bad", 1), ("warm", 0)])
    with pytest.raises(RecordError, match=r"test\.tsv: column label, row 1 has 0, which the training texts do not have"):
        text.load("encoder_head", "encoders/tiny", MINE)
