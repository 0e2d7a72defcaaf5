"""Converts texts into token ids, with the tokenizer in the folder of an encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedbench import plain_files
from fedbench.encoder_folder import TOKENIZER
from fedbench.errors import RecordError, one_line
from fedbench.tasks.data import Examples
from fedbench.tasks.encoder_files import BertConfig, require_libraries
from fedbench.tasks.text_files import Texts

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LARGEST_TOKENIZER = 64 << 20  # bytes
PIECE = 1 << 20  # characters that are encoded at a time
PADDING = ("[PAD]", "<pad>")


def read_tokenizer(folder: Path, config: BertConfig, tokens: int) -> Tokenizer:
    """Returns the tokenizer of a folder. It cuts or fills up every example to `tokens` tokens; of a
    pair the longer text is cut first.

    RecordError if it cannot be read, or does not fit the configuration: it has ids beyond the
    vocabulary, another padding, or no separators.
    """
    require_libraries()
    from tokenizers import Tokenizer

    file = folder / TOKENIZER
    text = plain_files.text(file, LARGEST_TOKENIZER, "tokenizer", RecordError)
    try:
        found = Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing narrower
        raise RecordError(f"{file}: no tokenizer can be read: {one_line(error)}") from None
    largest = max(found.get_vocab(with_added_tokens=True).values(), default=-1)
    if largest >= config.vocab_size:
        raise RecordError(
            f"{file}: does not fit the model: it has ids to {largest:,}, the model's vocab_size is {config.vocab_size:,}"
        )
    padding = found.id_to_token(config.pad_token_id)
    if padding not in PADDING:
        raise RecordError(
            f"{file}: does not fit the model: id {config.pad_token_id} must be {' or '.join(PADDING)}, "
            f"by the model's pad_token_id, got {padding!r}"
        )
    if found.num_special_tokens_to_add(is_pair=False) == 0:
        raise RecordError(f"{file}: does not fit the model: it puts no token such as [CLS] before a text")
    found.enable_truncation(tokens, strategy="longest_first")
    found.enable_padding(length=tokens, pad_id=config.pad_token_id, pad_token=padding)
    return found


def encoded(texts: Texts, tokenizer: Tokenizer) -> Examples:
    """Returns ids (n, tokens) for one column of texts, or ids and token types (n, 2, tokens) for
    two. They are float32, which represents them exactly."""
    rows = list(texts.columns[0]) if len(texts.columns) == 1 else list(zip(*texts.columns, strict=True))
    ids = []
    for some in _pieces(rows):  # the tokens of all texts at once would take far more memory than their ids
        found = tokenizer.encode_batch(some)
        ids += [one.ids if len(texts.columns) == 1 else (one.ids, one.type_ids) for one in found]
    return Examples(np.array(ids, np.float32), texts.labels)


def _pieces(rows: Sequence[str | tuple[str, ...]]) -> Iterator[Sequence[str | tuple[str, ...]]]:
    """Yields texts in their order, a few at a time and as many characters at a time as PIECE."""
    begin = size = 0
    for i, row in enumerate(rows):
        size += len(row) if isinstance(row, str) else sum(map(len, row))
        if size > PIECE:
            yield rows[begin : i + 1]
            begin, size = i + 1, 0
    if begin < len(rows):
        yield rows[begin:]
