"""What a map says, as data. It lies beside the archive whose runs it was made of.

All of it is of the algorithms without public data, which are compared with each other alone. Where
a level is asked for at which an algorithm does not run (`factors.runs_there`), it does not compete.
Numbers with three parts are a value with the ends of its 95 % interval.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from fedbench import plain_files
from fedbench.analysis.map.prediction import Verdict
from fedbench.errors import UsageError
from fedbench.results.store import write_atomically
from fedbench.scenarios.base import Float, Part
from fedbench.scenarios.problems import validated
from fedbench.suites.design.schema import Kind, Value
from fedbench.suites.findings.results import Results
from fedbench.suites.race.judging import digest

FILE = "map.json"
LARGEST_FILE = 16 << 20

Name = Annotated[str, Field(max_length=1000)]
Levels = dict[Name, Value]
Number = Annotated[Float, Field(allow_inf_nan=False), AfterValidator(lambda value: float(f"{value:.6g}"))]
"""With six significant digits; more of them say nothing."""
Triple = tuple[Number, Number, Number]
Axis = Annotated[str, Field(pattern="^(seconds|gradient_evaluations|bytes)$")]


class Advice(Part):
    """Which algorithms to try for one kind of heterogeneity with so many clients at work.

    words, at_work: of the kind; `at_work` is None if the design does not change it.
    cost: of the one of them with the smallest mean regret.
    tries: by algorithm its cost over that of the best, from the smallest on. With a probability of
    90 % one of them is within 10 % of the best.
    """

    words: Name
    at_work: Value | None
    axis: Axis
    cost: Triple
    tries: Annotated[dict[Name, Triple], Field(min_length=1)]


class Always(Part):
    """What it costs to always use one algorithm, as cost over that of the best: the geometric mean
    over points, by the model, and the largest that was measured at one of them, which is named.

    at_work: of the points; None for all of them.
    points: how many these are; those at which nobody arrives are none of them.
    worst: with an interval over seeds. Without an end, None, if it misses a target at a point.
    """

    algorithm: Name
    axis: Axis
    at_work: Value | None
    points: int
    mean: Triple
    worst: tuple[Number, Number, Number | None]
    worst_at: Name


class Region(Part):
    """With which probability each algorithm is within 10 % of the best, over all possible points
    with these levels."""

    axis: Axis
    levels: Levels
    close: dict[Name, Annotated[Float, Field(ge=0, le=1)]]


class Price(Part):
    """The cost of the best algorithm in rounds over that of the best one that does not wait, with
    all other factors in the middle; None where one of the two kinds does not run."""

    axis: Axis
    levels: Levels
    ratio: Triple | None


class Judged(Part):
    """How well one axis is predicted at the points held out.

    error, nearest, main: the root mean square error of the log of cost over the best, by the map,
    by the nearest point of the design, and by main effects alone.
    exact, bounds, too_low: of how many costs the errors are, how many others are lower bounds, and
    how many of these the map predicts too low, which are errors too.
    rows: by point how many algorithms the map would try.
    missed: the points at which none of them is within 10 % of the best.
    undecided: by point, why it cannot be judged.
    in_sets: by point, the algorithms that are in a set of the best there. Errors are theirs.
    """

    axis: Axis
    error: Number
    nearest: Number
    main: Number
    exact: int
    bounds: int
    too_low: int
    rows: dict[Name, int]
    missed: tuple[Name, ...]
    undecided: dict[Name, Name]
    in_sets: dict[Name, tuple[Name, ...]]

    @property
    def verdict(self) -> Verdict:
        """Returns how well it predicts. A point that cannot be judged is no hit."""
        hits = [name not in self.missed for name in self.rows] + [False] * len(self.undecided)
        return Verdict(
            self.error, self.nearest, self.main, tuple(self.rows.values()), tuple(hits), self.exact, self.bounds, self.too_low
        )

    @property
    def predicts(self) -> bool:
        """Returns whether the axis may be interpolated."""
        return self.verdict.predicts


class Sure(Part):
    """How sure the model of one axis is. All are standard deviations of a log cost.

    fit: how an algorithm departs at a point from what the factors say; the luck of its options,
    which were tuned once, is in it.
    seed: what all rows of a seed share.
    noise: of a run of the median algorithm.
    """

    axis: Axis
    fit: Triple
    seed: Number
    noise: Number


class Place(Part):
    """One point of the suite: its kind, the hash of its scenario, and the levels of the factors."""

    kind: Kind
    scenario: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    levels: Levels


class Map(Part):
    """All that a map says.

    digest: of the runs from which it was made.
    points: those to which the models were fitted, and those held out.
    algorithms, public_data: those that are compared, and those that have public data.
    waits: those of both that work in rounds.
    left_out: by algorithm, why it is not in the model.
    seeds: the fewest and the most that a row has.
    censored: the share of runs that miss a target.
    no_points: numbers of clients at work for which something is said, and which no point of the
    design has; by neighbours that points have.
    luck: the standard deviation of the logarithm of the time of the winner of a tuning, over
    independent tunings at the same point, on the validation part; None without them.
    """

    model_config = ConfigDict(title="map")

    schema_version: Literal[1] = Field(alias="schema")
    suite: Name
    suite_hash: Name
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    points: dict[Name, Place]
    algorithms: tuple[Name, ...]
    public_data: tuple[Name, ...]
    waits: tuple[Name, ...]
    left_out: dict[Name, Name]
    seeds: tuple[int, int]
    censored: Annotated[Float, Field(ge=0, le=1)]
    no_points: dict[Name, tuple[Value, ...]]
    advice: tuple[Advice, ...]
    always: tuple[Always, ...]
    regions: tuple[Region, ...]
    prices: tuple[Price, ...]
    judged: tuple[Judged, ...]
    sure: tuple[Sure, ...]
    luck: Number | None

    @property
    def design(self) -> list[str]:
        """Returns the points to which the models were fitted."""
        return [name for name, one in self.points.items() if one.kind == "design"]

    def predicts(self, axis: str) -> bool:
        """Returns whether an axis predicts points that it has not seen; no if none were held
        out."""
        return any(one.predicts for one in self.judged if one.axis == axis)


def digest_of(results: Results) -> str:
    """Returns the digest of all runs of a suite."""
    return digest(results.runs.values())


def as_json(said: Map) -> str:
    """Returns JSON text with a line for each statement, so that a diff shows what changed."""
    content: Mapping[str, object] = json.loads(said.model_dump_json(by_alias=True))
    lines = [f"{json.dumps(key)}: {_lines(value)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: object) -> str:
    """Returns JSON text with a line for each part, if there are parts with parts of their own."""
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
    if isinstance(value, dict) and any(isinstance(one, dict) for one in value.values()):
        return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(one)}" for key, one in value.items()) + "\n}"
    return json.dumps(value)


def write(folder: Path, said: Map) -> None:
    """Replaces the file in one step."""
    write_atomically(folder / FILE, as_json(said).encode())


def read(folder: Path, results: Results) -> Map:
    """Returns what the map in a folder says. Raises UsageError if there is none, if it cannot be
    read, or if it was made from other runs."""
    file, name = folder / FILE, results.suite.name
    again = f"`fedbench suite map {results.suite.typed}` makes it"
    if not file.exists():
        raise UsageError(f"map {file}: there is no such file; {again} from the records")
    found = validated(Map, plain_files.json_mapping(file, LARGEST_FILE, "map"), str(file))
    wanted = (name, results.suite.content_hash(), digest_of(results))
    if (found.suite, found.suite_hash, found.digest) != wanted:
        raise UsageError(
            f"map {file}: it is of suite {found.suite} ({found.suite_hash}, runs {found.digest}), expected {name} ({wanted[1]}, runs "
            f"{wanted[2]}); {again} again"
        )
    return found
