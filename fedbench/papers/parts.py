"""The form of the files `experiments/<key>.yaml`: how the cells of a paper's tables are run, with
how many seeds, what stands in, and what is varied."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from fedbench.scenarios.base import Integer, Part

Text = Annotated[str, Field(max_length=10_000)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
Read = Literal["seconds_to_target", "rounds_to_target", "last_ten_accuracy", "utilisation"]


class Varied(Part):
    """More keys that are set for the cells that match `where`. `guess` says in a sentence what
    decides the outcome there and is not printed."""

    where: dict[str, Any]
    set: dict[str, Any] = Field(default={})
    guess: Text = ""


class How(Part):
    """How the cells that match `where` are made again.

    The values of `set`, those of the entries of `varied` that match, the scenario and the selectors
    of `algorithms` may hold {name}, which stands for that part of the cell's setting.

    `incomparable` says why the numbers are not compared; it is empty if they are.
    """

    where: dict[str, Any] = Field(default={})
    scenario: str
    set: dict[str, Any] = Field(default={})
    varied: tuple[Varied, ...] = ()
    algorithms: dict[str, str]
    read: Read
    incomparable: Text = ""


class Seeds(Part):
    """How many seeds the cells that match `where` are run with. `why` is the reason if there are
    none.

    `then` is the number of seeds that are run next. They were declared after the verdict on the
    first ones. The verdict takes all of them as soon as all have a record, and until then the first
    ones, so that no seed is chosen.
    """

    where: dict[str, Any] = Field(default={})
    seeds: Annotated[Integer, Field(ge=0, le=100)]
    then: Annotated[Integer, Field(ge=0, le=100)] = 0
    why: Text = ""

    @property
    def last(self) -> int:
        """The number of seeds that are run in the end."""
        return max(self.seeds, self.then)


class StandIn(Part):
    """Data or a network that stand in for those of the cells that match `where`. Only orders are
    read off their runs.

    Attributes:
        name: the name of the stand-in, which a table has once.
        about: what stands in for what.
        scenarios: by the scenarios of the cells, those on which they are run in their place. What
            is not there has its own, which is then named after the stand-in too.
        set: keys that are set otherwise.
        options: options of the algorithms that are otherwise.
        of_ceiling: the targets are the same share of what central training reaches on the stand-in
            as they are of what it reaches on the paper's own data.
        card: a run takes days of a core and minutes of a GPU.
    """

    name: Name
    about: Text
    where: dict[str, Any] = Field(default={})
    scenarios: dict[str, str] = Field(default={})
    set: dict[str, Any] = Field(default={})
    options: dict[str, Any] = Field(default={})
    of_ceiling: bool = False
    card: bool = False
    seeds: Annotated[tuple[Seeds, ...], Field(min_length=1)]


class Expected(Part):
    """Where ours / printed of the cells that match `where` is to lie, ends included."""

    where: dict[str, Any] = Field(default={})
    low: Annotated[float, Field(gt=0)]
    high: Annotated[float, Field(gt=0)]


class Variation(Part):
    """One thing that is set otherwise for the cells that match `where`, to find out what moves
    their numbers: keys of the scenario, options of the algorithm, or the algorithm itself, by its
    selector. Its results may explain a verdict but never change one. `shows` is what it would show,
    and what would decide; it was declared before the runs. `expects` is the same in numbers, where
    ratios decide: all seeds of all these cells are to lie there. `stand_in` is that on which the
    cells are run."""

    name: Name
    stand_in: str = ""
    about: Text
    shows: Text = ""
    expects: tuple[Expected, ...] = ()
    where: dict[str, Any] = Field(default={})
    set: dict[str, Any] = Field(default={})
    options: dict[str, Any] = Field(default={})
    algorithm: str = ""
    seeds: Annotated[Integer, Field(ge=1, le=100)] = 1


class Table(Part):
    """What is done about a table.

    Attributes:
        kind: where its numbers come from: runs, the configuration of the code, or the orders of
            convergence that `fedbench theory` measures.
        orders: the key of the setting in which two cells must differ to have their order compared;
            empty if no orders are compared.
        apart_from: keys in which such cells may differ as well.
        panels: the key whose values have a panel each in the picture of printed numbers against
            ours; empty for one panel.
        stand_ins: what stands in for data that not everybody has, or for a network that costs much.
        cannot: why its cells cannot be made again.
        explained: what the variations say about numbers that differ, sentence by sentence.
    """

    about: Text
    kind: Literal["runs", "configuration", "theory"]
    orders: str = ""
    apart_from: tuple[str, ...] = ()
    panels: str = ""
    how: tuple[How, ...] = ()
    seeds: tuple[Seeds, ...] = ()
    stand_ins: tuple[StandIn, ...] = ()
    cannot: Text = ""
    variations: tuple[Variation, ...] = ()
    explained: tuple[Text, ...] = ()


class Figure(Part):
    """Learning curves of the cells of a table that match `where`, one line for each algorithm.
    `name` is what the paper calls its own figure. With `stand_in` they are the curves of what
    stands in for these cells."""

    name: Annotated[str, Field(max_length=100)]
    table: str
    stand_in: str = ""
    where: dict[str, Any]


class Experiments(Part):
    """What a paper claims, in a sentence or two, what comes out of its tables in plain words
    (`said`), what is done about them, and which of its figures are drawn."""

    schema_version: Literal[1] = Field(alias="schema")
    claim: Text
    said: Text
    tables: dict[str, Table]
    figures: tuple[Figure, ...] = ()
