"""The manifest, submission.yaml: who submits what, for which suite, and the digests of all other
files."""

from __future__ import annotations

import datetime
import hashlib
import json
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from fedbench import plain_files
from fedbench.errors import UsageError
from fedbench.options import MOST, why_no_interval
from fedbench.scenarios.base import Integer, Part
from fedbench.submissions.faults import FaultsError, Finding, fault, few
from fedbench.suites.space import MOST_OPTIONS, Interval

MANIFEST = "submission.yaml"
PLUGIN = r"[A-Za-z_][A-Za-z0-9_]{0,99}\.py"
SLUG = r"[a-z0-9][a-z0-9-]{0,63}"


def _printable(text: str) -> str:
    """Refuses characters that move the cursor, turn the writing direction, or are invisible."""
    for character in text:
        if not character.isprintable():
            raise ValueError(f"expected printable characters, got {_named(character)}")
    return text


def _day(text: str) -> str:
    datetime.date.fromisoformat(text)
    return text


def _named(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()


Line = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_printable)]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*\z", max_length=100)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\z", max_length=100)]
Class = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\z", max_length=100)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{16}\z")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
Day = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z"), AfterValidator(_day)]


Tried = Annotated[int | float, Field(ge=-MOST, le=MOST)]


class _Part(Part):
    model_config = ConfigDict(strict=True)


class BuiltIn(_Part):
    """A built-in algorithm of fedbench."""

    origin: Literal["built in"]
    name: Name


class TunedOption(_Part):
    """The values that were tried of an option: those between `low` and `high`, as a search space
    has them, and its default value. Of a `whole` one they are whole numbers."""

    low: Tried
    high: Tried
    scale: Literal["log", "linear"]
    rate: bool = False
    whole: bool = False
    default: Tried | None

    def _check(self) -> None:
        if why := why_no_interval(self.low, self.high, self.scale):
            raise ValueError(why)

    @property
    def interval(self) -> Interval:
        return Interval(low=self.low, high=self.high, scale=self.scale, rate=self.rate)


class InFile(_Part):
    """An algorithm that is a class in a file of the submission's folder. If it has tuned rows,
    `space` has the options that were tuned."""

    origin: Literal["file"]
    name: Name
    file: Annotated[str, Field(pattern=rf"^{PLUGIN}\z")]
    class_: Annotated[Class, Field(alias="class")]
    sha256: Sha256
    space: Annotated[dict[Name, TunedOption], Field(min_length=1, max_length=MOST_OPTIONS)] | None = None

    @model_serializer(mode="wrap")
    def _without_what_others_have(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Returns the keys without `space` where there is none."""
        return {key: value for key, value in handler(self).items() if key != "space" or value is not None}


class Distributed(_Part):
    """An algorithm that is an entry point of a package which others can install. `sha256` is the
    sum of the file that defines the class."""

    origin: Literal["distribution"]
    name: Name
    package: Word
    version: Word
    class_: Annotated[Class, Field(alias="class")]
    sha256: Sha256


Entrant = Annotated[BuiltIn | InFile | Distributed, Field(discriminator="origin")]


class OfSuite(_Part):
    """The suite by its name and the hash of its design. Another algorithm in the suite does not
    change that hash."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*\z", max_length=100)]
    hash: Hash


class File(_Part):
    """The size and the digest of a file in the folder."""

    bytes: Annotated[Integer, Field(ge=0, lt=2**40)]
    sha256: Sha256


class Manifest(_Part):
    """All keys of submission.yaml. `tuning_trials` is the number of trials for each row and point
    that the authors say they made to find options."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    name: Annotated[str, Field(pattern=rf"^{SLUG}\z")]
    title: Line
    authors: Annotated[list[Line], Field(min_length=1, max_length=100)]
    contact: Line
    about: Annotated[str, Field(max_length=5000), AfterValidator(_printable)] = ""
    date: Day
    suite: OfSuite
    rules: Annotated[Integer, Field(ge=1, le=10_000)]
    tuning_trials: Annotated[Integer, Field(ge=0, le=1_000_000)] = 0
    algorithms: Annotated[list[Entrant], Field(min_length=1, max_length=100)]
    files: Annotated[dict[Annotated[str, Field(max_length=110)], File], Field(max_length=110)]

    @property
    def plugins(self) -> dict[str, InFile]:
        """Returns the algorithms in files by their names."""
        return {one.name: one for one in self.algorithms if isinstance(one, InFile)}


def parse(content: bytes) -> Manifest:
    """Returns the manifest in the content of its file. Raises FaultsError with a fault for each key
    that is wrong."""
    try:
        text = plain_files.decoded(content, MANIFEST)
        _check_characters(text)
        found = plain_files.mapping_in(text, MANIFEST)
    except UsageError as error:
        raise fault(MANIFEST, str(error).removeprefix(f"{MANIFEST}: ")) from None
    try:
        manifest = Manifest.model_validate(found)
    except ValidationError as errors:
        raise FaultsError(few([_worded(error) for error in errors.errors(include_url=False)])) from None
    names = [one.name for one in manifest.algorithms]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise fault(MANIFEST, f"algorithms: {twice} is given twice")
    return manifest


def _check_characters(text: str) -> None:
    """Raises UsageError for a byte order mark, a carriage return, or anything else that is not
    printable, so that one text has one digest."""
    for number, line in enumerate(text.split("\n"), 1):
        for character in line:
            if not character.isprintable():
                raise UsageError(f"line {number}: expected printable characters, got {_named(character)}")


def _worded(error: Any) -> Finding:
    key = ".".join(str(part) for part in error["loc"] if part not in ("built in", "file", "distribution"))
    got = "" if error["type"] == "missing" else f", got {error['input']!r:.80}"
    return Finding(MANIFEST, f"{key:.120}: {error['msg']:.200}{got}")


def as_yaml(manifest: Manifest) -> str:
    """Returns the text of the file, with one line for each key, algorithm and file."""
    content = manifest.model_dump(mode="json", by_alias=True)
    lines = []
    for key, value in content.items():
        if key in ("algorithms", "files"):
            lines.append(f"{key}:")
            own = value.items() if isinstance(value, dict) else ((None, one) for one in value)
            lines += [f"  {'-' if name is None else f'{json.dumps(name)}:'} {_json(one)}" for name, one in own]
        else:
            lines.append(f"{key}: {_json(value)}")
    return "\n".join(lines) + "\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def digest(content: bytes) -> str:
    """Returns the digest of a submission: that of its manifest, which has the digests of all other
    files."""
    return hashlib.sha256(content).hexdigest()
