"""The JSON of the file of a map: frozen models with a type and a limit for every field."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from fedbench.analysis.map.factors import Factor
from fedbench.analysis.map.prediction import Verdict
from fedbench.scenarios.base import Float, Integer, Part

SCHEMA = 1
Count = Annotated[Integer, Field(ge=0, le=10**9)]
Text = Annotated[str, Field(max_length=1000)]
Names = Annotated[tuple[Text, ...], Field(max_length=10_000)]
Finite = Annotated[Float, Field(allow_inf_nan=False)]


class Transfer(Part):
    """How far the order of the algorithms is the same elsewhere, on one axis.

    where: another task or model, in words.
    points: at how many points both were run.
    agreement, low, high: the rank correlation with its interval.
    """

    where: Text
    axis: Text
    points: Count
    agreement: Finite
    low: Finite
    high: Finite


class CostsPart(Part):
    """What the file says of one axis of costs: the fields of `Costs` that are no arrays, and those
    of its design. `points` has the names of the design's points and their levels."""

    algorithms: Names
    seed: Count
    points: dict[str, tuple[Float | str, ...]]
    factors: tuple[Factor, ...]
    interactions: tuple[tuple[str, str], ...]
    middle: dict[str, Finite]
    half: dict[str, Finite]
    terms: Names
    left_out: Names
    verdict: Verdict | None


class MapPart(Part, title="map"):
    """What the file says of a map.

    suite, commit, made: which suite was run, at which commit, and the day on which it was fitted.
    records, seeds: how many records it rests on, and the fewest and the most seeds of a row.
    scenario: that of the suite, with all keys. What is the same at all points is known from it.
    numbers: for the kinds of a factor, such as those of label skew.
    public_data: the algorithms that use unlabelled data of the server, a group of its own.
    selectors: of the algorithms whose selector is not their name.
    options: those that were tuned, by point and algorithm.
    first: factors whose distance counts before that of all, for the options of a near point.
    transfer: to other tasks and models; empty if it was not measured.
    costs: by axis.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    suite: Text
    commit: Text
    made: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    records: Count
    seeds: tuple[Count, Count]
    scenario: dict[str, JsonValue]
    numbers: dict[str, Annotated[dict[str, Finite], Field(min_length=2)]] = Field(default={})
    public_data: Names = ()
    selectors: dict[str, Text] = Field(default={})
    options: dict[str, dict[str, dict[str, JsonValue]]]
    first: Names = ()
    transfer: tuple[Transfer, ...] = ()
    costs: Annotated[dict[str, CostsPart], Field(min_length=1, max_length=10)]

    def _check(self) -> None:
        for name, numbers in self.numbers.items():
            if len(set(numbers.values())) < len(numbers):
                raise ValueError(f"numbers.{name}: expected another number for every kind, got {numbers}")
        for axis, part in self.costs.items():
            if unknown := sorted(set(self.first) - {factor.name for factor in part.factors}):
                raise ValueError(f"first: costs.{axis} has no factor {unknown[0]!r}")
            for factor in part.factors:
                if factor.kinds and set(factor.kinds) - set(self.numbers.get(factor.name, {})):
                    raise ValueError(f"costs.{axis}: numbers for the kinds of {factor.name} are missing")
