"""A random BERT of two layers x 16 in the form of transformers' save_pretrained, and small files of
texts, written by the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

WORDS = ["good", "bad", "film", "plot", "a", "the", "is", "was", "not", "very", "##s", "##ly", "fine", "dull", "warm", "cold"]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
CONFIG: dict[str, Any] = {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "vocab_size": len(VOCABULARY),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "hidden_dropout_prob": 0.1,
    "pad_token_id": 0,
}


def tensors(scale: float = 0.3) -> dict[str, np.ndarray[Any, Any]]:
    """Random weights of an encoder without a classifier, under the names of a file of BertModel."""
    from fedbench.tasks.encoder import _tensors
    from fedbench.tasks.encoder_files import BertConfig

    draws = np.random.default_rng(5)
    named = {t.name.removeprefix("bert."): t.shape for t in _tensors(BertConfig.model_validate(CONFIG), 2, None) if t.law is None}
    return {
        name: (scale * draws.standard_normal(shape) + name.endswith("LayerNorm.weight")).astype(np.float32)
        for name, shape in named.items()
    }


def write_encoder(folder: Path, weights: dict[str, Any] | None = None, **changes: Any) -> Path:
    """The three files of an encoder; `changes` are of its configuration."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | changes))
    save_file(tensors() if weights is None else weights, folder / "model.safetensors")
    write_tokenizer(folder)
    return folder


def write_tokenizer(folder: Path, vocabulary: list[str] = VOCABULARY, *, separators: bool = True) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    ids = {word: number for number, word in enumerate(vocabulary)}
    made = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if separators:
        made.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    made.save(str(folder / "tokenizer.json"))


def sentences(count: int, seed: int = 0) -> list[tuple[str, int]]:
    """Sentences of 3 to 9 words; those with more good words than bad ones have the label 1."""
    draws, found = np.random.default_rng(seed), []
    for _ in range(count):
        words = draws.choice([word for word in WORDS if not word.startswith("##")], draws.integers(3, 10)).tolist()
        mood = sum(word in ("good", "fine", "warm") for word in words) - sum(word in ("bad", "dull", "cold") for word in words)
        found.append((" ".join(words), int(mood > 0)))
    return found


def write_tsv(file: Path, rows: list[tuple[Any, ...]], header: tuple[str, ...] = ("sentence", "label")) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join("\t".join(map(str, row)) + "\n" for row in (header, *rows)))
    return file


def write_root(root: Path, examples: int = 120) -> Path:
    """A data root with an encoder, and files of single sentences and of pairs."""
    write_encoder(root / "encoders" / "tiny")
    for name, count, seed in (("train", examples, 0), ("test", 40, 1)):
        rows = sentences(count, seed)
        write_tsv(root / "mine" / f"{name}.tsv", rows)
        pairs = [(a, b, int(x == y)) for (a, x), (b, y) in zip(rows, reversed(rows), strict=True)]
        write_tsv(root / "mine" / f"{name}_pairs.tsv", pairs, ("one", "other", "same"))
    return root
