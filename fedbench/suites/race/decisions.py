"""The decisions of a race as a file: which rows were dropped at which point, after how many seeds,
at which level and why. It lies in the store of the runs, and beside their archive."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from fedbench import plain_files
from fedbench.errors import UsageError
from fedbench.results.store import write_atomically
from fedbench.scenarios.base import Part
from fedbench.scenarios.problems import validated
from fedbench.suites.race.judging import Reason, Row
from fedbench.suites.race.schema import Look
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import Tuned

FILE = "race.json"
LARGEST_FILE = 16 << 20


class Judged(Part):
    """One look at one group of a point.

    group: its system, with `(tuned)` for the rows with tuned options.
    compared: the rows that were compared.
    dropped: those that get no further seeds, with the reason.
    digest: of the runs that were looked at.
    """

    group: Annotated[str, Field(max_length=200)]
    look: Look
    compared: tuple[Row, ...]
    dropped: dict[Row, Reason]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]

    @property
    def left(self) -> tuple[str, ...]:
        return tuple(row for row in self.compared if row not in self.dropped)

    def _check(self) -> None:
        if unknown := sorted(set(self.dropped) - set(self.compared)):
            raise ValueError(f"dropped: {unknown[0]} was not compared")


class Decisions(Part):
    """All decisions of a race so far: by point the looks, sorted by group and seeds. `race_hash` is
    the hash of everything that they depend on before a run."""

    model_config = ConfigDict(title="race")

    schema_version: Literal[1] = Field(alias="schema")
    suite: str
    race_hash: str
    points: dict[str, tuple[Judged, ...]] = Field(default={})

    def of(self, point: str, group: str) -> list[Judged]:
        """Returns the looks at a group, in order."""
        return [one for one in self.points.get(point, ()) if one.group == group]

    def last(self, point: str) -> list[Judged]:
        """Returns the last look at every group of a point."""
        return list({one.group: one for one in self.points.get(point, ())}.values())

    def seeds(self, point: str, row: str) -> int:
        """Returns with how many seeds a row is compared: those of the last look at its group, 0 if
        it was dropped before that. A row in no group, such as a reference, has as many as the look
        with the most; 0 before the first look."""
        own, last = [one for one in self.points.get(point, ()) if row in one.compared], self.last(point)
        if not own:
            return max((one.look.seeds for one in last), default=0)
        return own[-1].look.seeds if own[-1] in last else 0

    def dropped_after(self, point: str, row: str) -> int | None:
        """Returns after how many seeds a row was dropped, None if it was not."""
        return next((one.look.seeds for one in self.points.get(point, ()) if row in one.dropped), None)

    def dropped(self) -> Iterator[tuple[str, Judged, str, Reason]]:
        """Yields point, look, row and reason of all that were dropped."""
        for point, several in self.points.items():
            for one in several:
                for row, reason in one.dropped.items():
                    yield point, one, row, reason

    def with_more(self, more: Mapping[str, Sequence[Judged]]) -> Decisions:
        """Returns these decisions with more of them, each once. Raises UsageError if one
        contradicts what was decided of the same group at the same look."""
        points = dict(self.points)
        for point, added in more.items():
            for one in added:
                known = [other for other in points.get(point, ()) if (other.group, other.look) == (one.group, one.look)]
                if known and known[0] != one:
                    raise UsageError(
                        f"race of suite {self.suite}: {point}, {one.group}, after {one.look.seeds} seeds: expected the decision that "
                        f"is written, drop {_told(known[0])} (runs {known[0].digest}), got drop {_told(one)} (runs {one.digest})"
                    )
                several = points.get(point, ())
                points[point] = (
                    several if known else tuple(sorted([*several, one], key=lambda each: (each.group, each.look.seeds)))
                )
        return self.model_copy(update={"points": points})


def _told(one: Judged) -> str:
    return ", ".join(one.dropped) or "nobody"


def race_hash(suite: Suite, frozen: Tuned | None) -> str:
    """Returns the hash of the suite and of the tuned options whose rows take part."""
    options = (
        None
        if frozen is None
        else {
            point: {selector: choice.options for selector, choice in sorted(choices.items())}
            for point, choices in frozen.points.items()
        }
    )
    content = json.dumps([suite.content_hash(), options], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def nothing(suite: Suite, frozen: Tuned | None) -> Decisions:
    """Returns the decisions of a race that has not begun."""
    return Decisions(schema=1, suite=suite.name, race_hash=race_hash(suite, frozen))


def read(folder: Path, suite: Suite, frozen: Tuned | None) -> Decisions:
    """Returns the decisions in a folder; those of a race that has not begun if it has no such file.

    Raises UsageError if the file cannot be read, or is of another race.
    """
    file = folder / FILE
    if not file.exists():
        return nothing(suite, frozen)
    found = validated(Decisions, plain_files.json_mapping(file, LARGEST_FILE, "race"), str(file))
    if (found.suite, found.race_hash) != (suite.name, race_hash(suite, frozen)):
        raise UsageError(
            f"race {file}: it is of suite {found.suite} ({found.race_hash}), expected {suite.name} ({race_hash(suite, frozen)}); "
            "a race whose suite or tuned options change begins anew: move the file away"
        )
    for point, several in found.points.items():
        suite.point(point)
        looks = suite.race.at(point) if suite.race is not None else ()
        _check_looks(several, looks, f"race {file}: {point}")
    return found


def _check_looks(several: Iterable[Judged], looks: Sequence[Look], where: str) -> None:
    """Raises UsageError unless the looks of every group are those of the suite at the point, in
    order, and each compares some of those that the one before left: all but those that were
    withdrawn since."""
    before: dict[str, list[Judged]] = {}
    for one in several:
        own = before.setdefault(one.group, [])
        if len(own) >= len(looks) or one.look != looks[len(own)]:
            known = ", ".join(str(look.seeds) for look in looks)
            raise UsageError(
                f"{where}, {one.group}: look {len(own) + 1} is after {one.look.seeds} seeds; expected the looks of the suite, after {known}"
            )
        if own and not set(one.compared) <= set(own[-1].left):
            raise UsageError(f"{where}, {one.group}: after {one.look.seeds} seeds other rows were compared than were left before")
        own.append(one)


def write(folder: Path, found: Decisions) -> None:
    """Replaces the file in one step."""
    write_atomically(folder / FILE, as_json(found).encode())


def copy(source: Path, target: Path) -> None:
    """Copies the decisions of an archive into a store, if that has none and the archive some."""
    if (source / FILE).exists() and not (target / FILE).exists():
        write_atomically(target / FILE, plain_files.content(source / FILE, LARGEST_FILE, "race"))


def as_json(found: Decisions) -> str:
    """Returns JSON text with a line for each look, so that a diff shows what was decided."""
    head = [
        f"{json.dumps(key)}: {json.dumps(value)}," for key, value in found.model_dump(by_alias=True, exclude={"points"}).items()
    ]
    several = [f"{json.dumps(point)}: [\n{_lines(found.points[point])}\n]" for point in sorted(found.points)]
    return "\n".join(["{", *head, '"points": {', ",\n".join(several), "}}"]) + "\n"


def _lines(several: Iterable[Judged]) -> str:
    return ",\n".join(json.dumps(one.model_dump()) for one in several)
