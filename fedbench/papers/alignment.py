"""Reads which lines of this repository do what a paper says, the paper's errata, and what the paper
does not print.

Each paper has a file `alignment/<key>.yaml`, named by its key in `fedbench.bibliography`. A row of
it quotes our code. So a change of the code breaks the row, and a test says which place of the paper
has to be looked at again.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fedbench import bibliography, plain_files
from fedbench.documents.paper import Aligned, Erratum, Unprinted
from fedbench.documents.parts import Count, Line, Part, Several, Slug, Text, Word
from fedbench.errors import FedbenchError
from fedbench.scenarios.problems import validated

FOLDER = Path(__file__).parent / "alignment"
CONTINUES = (")", "public:", "protected:", "private:")
"""A line that begins so does not end the definition above it, although it is not indented more."""


class MisalignedError(FedbenchError):
    """A row's code is not in its file exactly once. The message names the paper, its place and the
    file."""


class Row(Part):
    """A place of a paper, and the code that does what stands there.

    Attributes:
        place: a line of an algorithm, such as `Alg. 1 server line 4` or `Alg. 1 lines 2-3`, an
            equation, or a section.
        says: what the paper states there, in ASCII and with its symbols. Our word follows in
            brackets where it differs.
        file: path of the code in the repository; empty if no code belongs to the place.
        holds: the whole line of code, or a few consecutive ones, without their common indentation.
        within: the beginning of the line that opens the definition around `holds`, such as
            `def step`; empty for the whole file.
        not_code: why no code belongs to the place; empty if `file` is given.
    """

    place: Line
    says: Annotated[Text, Field(min_length=1)]
    file: Word = ""
    holds: Text = ""
    within: Word = ""
    not_code: Text = ""

    @model_validator(mode="after")
    def _is_code_or_not(self) -> Self:
        has_some, has_all = bool(self.file or self.holds or self.within), bool(self.file and self.holds)
        if has_some != has_all or has_all == bool(self.not_code):
            raise ValueError("expected file and holds, or not_code alone")
        return self


class Alignment(Part):
    """The content of `alignment/<key>.yaml`. `algorithms` has the number of lines of each printed
    algorithm by its name."""

    schema_version: Literal[1] = Field(alias="schema")
    paper: Slug
    algorithms: dict[Word, Count]
    alignment: Several[Row]
    errata: Several[Erratum]
    unprinted: Several[Unprinted]

    def located(self, root: Path) -> list[Aligned]:
        """Returns every row with its lines in the repository at `root`, in order.

        Only tests and the makers of pages call this, since an installed package has no C++. Raises
        MisalignedError for the first row whose file is missing or does not hold its code exactly
        once.
        """
        return [_located(self.paper, row, root) for row in self.alignment]


def load(key: str) -> Alignment:
    """Returns the alignment of a paper. Raises UsageError if the file has not its form."""
    file = FOLDER / f"{key}.yaml"
    return validated(Alignment, plain_files.mapping(file, "alignment"), file.name)


def _located(key: str, row: Row, root: Path) -> Aligned:
    if row.not_code:
        return Aligned(place=row.place, says=row.says, not_code=row.not_code)
    where = f"{bibliography.paper(key).short}, {row.place}: {row.file}"
    file = root / row.file
    if not file.is_file():
        raise MisalignedError(f"{where} is no file of the repository; look at this place of the paper again")
    lines = file.read_text(encoding="utf-8").splitlines()
    begin, end = _definition(lines, row.within, where) if row.within else (0, len(lines))
    wanted = _block(row.holds.splitlines())
    size = len(wanted)
    starts = [i for i in range(begin, end - size + 1) if _block(lines[i : i + size]) == wanted]
    if len(starts) != 1:
        places = ", ".join(str(i + 1) for i in starts)
        found = f"holds {len(starts)} times, in lines {places}," if starts else "does not hold"
        inside = f" within {row.within!r}" if row.within else ""
        asked = "look at this place of the paper again, and quote the code anew"
        raise MisalignedError(f"{where} {found}{inside} the code that does it; {asked}: {row.holds}")
    first, last = starts[0] + 1, starts[0] + size
    return Aligned(place=row.place, says=row.says, file=row.file, first=first, last=last, holds=row.holds)


def _block(lines: Sequence[str]) -> list[str]:
    """Returns the lines without their common indentation."""
    return textwrap.dedent("\n".join(lines)).splitlines()


def _definition(lines: Sequence[str], opening: str, where: str) -> tuple[int, int]:
    """Returns the indices of the first line of a definition and of the line behind its last one.

    The definition is the one whose first line begins with `opening`. It ends before the next line
    that is not indented more. Raises MisalignedError unless exactly one line begins so.
    """
    starts = [i for i, line in enumerate(lines) if line.strip().startswith(opening)]
    if len(starts) != 1:
        found = f"has {len(starts)} lines that begin with {opening!r}, expected one"
        raise MisalignedError(f"{where} {found}; look at this place of the paper again")
    begin = starts[0]
    depth = _indentation(lines[begin])
    for i in range(begin + 1, len(lines)):
        text = lines[i].strip()
        if text and _indentation(lines[i]) <= depth and not text.startswith(CONTINUES):
            return begin, i
    return begin, len(lines)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
