"""Texts as token ids: those of transformers' own tokenizer, and tokenizers that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import RecordError
from fedbench.tasks.encoder_files import BertConfig
from fedbench.tasks.text_files import Texts
from fedbench.tasks.tokens import encoded, read_tokenizer

from ..tiny_bert import CONFIG, VOCABULARY, write_encoder, write_tokenizer

pytest.importorskip("tokenizers")
BERT = BertConfig.model_validate(CONFIG)
ONE = ["A good film", "the plots was very, very dull and badly cold " * 3, "unknownword"]
OTHER = ["bad", "warm film is not the plot", "fine"]
LABELS = np.array([1, 0, 1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_encoder(tmp_path / "tiny")


def test_ids_by_hand(folder: Path) -> None:
    """Lower case, a piece of a word, an unknown word, [CLS] and [SEP], then padding."""
    found = encoded(Texts((["Good plots xyz"],), LABELS[:1]), read_tokenizer(folder, BERT, 8))
    assert [VOCABULARY[int(i)] for i in found.x[0]] == ["[CLS]", "good", "plot", "##s", "[UNK]", "[SEP]", "[PAD]", "[PAD]"]
    assert (found.x.dtype, found.x.shape, found.y.tolist()) == (np.float32, (1, 8), [1])


def test_ids_and_types_are_those_of_transformers(folder: Path) -> None:
    """With their strategy for pairs: the longer text is cut first."""
    transformers = pytest.importorskip("transformers")
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]", model_input_names=["input_ids", "token_type_ids"]
    )
    expected = theirs(ONE, OTHER, padding="max_length", truncation="longest_first", max_length=12)
    found = encoded(Texts((ONE, OTHER), LABELS), read_tokenizer(folder, BERT, 12))
    assert found.x.shape == (3, 2, 12)
    assert np.array_equal(found.x[:, 0], expected["input_ids"])
    assert np.array_equal(found.x[:, 1], expected["token_type_ids"])
    assert found.x[1, 1].sum() >= 5
    single = encoded(Texts((ONE,), LABELS), read_tokenizer(folder, BERT, 12))
    assert np.array_equal(single.x, theirs(ONE, padding="max_length", truncation=True, max_length=12)["input_ids"])


def test_a_tokenizer_of_another_model_is_refused(folder: Path) -> None:
    write_tokenizer(folder, [*VOCABULARY, "more"])
    with pytest.raises(
        RecordError, match=r"tokenizer\.json: does not fit the model: it has ids to 21, the model's vocab_size is 21"
    ):
        read_tokenizer(folder, BERT, 12)
    write_tokenizer(folder, ["[UNK]", "[PAD]", *VOCABULARY[2:]])
    with pytest.raises(RecordError, match=r"id 0 must be \[PAD\] or <pad>, by the model's pad_token_id, got '\[UNK\]'"):
        read_tokenizer(folder, BERT, 12)
    write_tokenizer(folder, separators=False)
    with pytest.raises(RecordError, match=r"it puts no token such as \[CLS\] before a text"):
        read_tokenizer(folder, BERT, 12)


@pytest.mark.parametrize(
    "content", ["", "{}", "null", '{"version": "1.0"', json.dumps({"version": "1.0", "model": {"type": "Evil"}})]
)
def test_no_tokenizer(folder: Path, content: str) -> None:
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(RecordError, match=r"tokenizer\.json: no tokenizer can be read: "):
        read_tokenizer(folder, BERT, 12)
