"""A scenario with its rows: what they measured, how they compare, and their runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from fedbench.analysis.curves import Band
from fedbench.analysis.pictures.ledgers import Participation
from fedbench.analysis.standings import Comparison
from fedbench.analysis.statistics import Estimate
from fedbench.documents.parts import Count, Counts, Few, Many, Named, Number, Part, Points, Several, Text, Word
from fedbench.results.sections import Outcome, Used
from fedbench.scenarios.data_parts import PublicPart
from fedbench.scenarios.schema import BudgetPart, Target

Measures = Annotated[dict[Word, Estimate], Field(max_length=100)]


class Hits(Part):
    """What the seeds of a row need to reach a target. `reached` has the place of every seed on the
    axis, None for a miss, and `beyond` where the median seed was last seen if it missed."""

    metric: Word
    target: Number
    hits: Count
    total: Count
    median: Number | None
    beyond: Number | None
    restricted_mean: Estimate
    lower_bound: bool
    reached: Many[Number | None]


class Curve(Part):
    """A mean curve. Its band goes `half` to either side, or from `low` to `high`, or is the curve
    itself."""

    band: Band
    at: Points
    mean: Points
    half: Points = ()
    low: Points = ()
    high: Points = ()

    @property
    def columns(self) -> tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]:
        """The places, the mean, and the lower and the upper ends of the band."""
        if not self.half:
            return self.at, self.mean, self.low or self.mean, self.high or self.mean
        pairs = list(zip(self.mean, self.half, strict=True))
        return self.at, self.mean, [value - wide for value, wide in pairs], [value + wide for value, wide in pairs]


class Limit(Part):
    """A run that ends where accuracies are compared."""

    selector: Text
    seed: Count
    ended_by: Word


class Horizon(Part):
    """Where accuracies are compared, and which runs end there. `is_shared` says whether all
    compared runs do."""

    at: Number | None
    is_shared: bool
    limits: Annotated[tuple[Limit, ...], Field(max_length=100_000, strict=False)]


class Provenance(Part):
    """How a run was made. What is None is not known, or is said elsewhere."""

    version: Word | None = None
    commit: Word | None = None
    dirty: bool | None = None
    trainer: Word | None = None
    gpu: Word | None = None
    instruction_set: Word | None = None
    cpu: Word | None = None
    libraries: Named[Word] = Field(default={})
    wall_seconds: Number | None = None


class Run(Part):
    """A run. Its provenance is what its row does not have for all runs."""

    run_id: Word
    seed: Count
    accuracy_at_horizon: Number | None
    warnings: Few[Text]
    outcome: Outcome
    provenance: Provenance
    digest: Word | None


class Row(Part):
    """An algorithm with its options in a scenario.

    Attributes:
        flattered: whether it had public data held out of the task's own training data.
        left_out: why its accuracy is not compared; empty if it is.
        off_board: why it is not on the board; empty if it is.
        staleness: the shares of the used results with staleness 0, 1, .. What they lack of 1 is
            staler.
        command_needs: what the command needs, or why there is none.
        provenance: what all of its runs share.
    """

    label: Text
    selector: Text
    algorithm: Used
    flattered: bool
    seeds: Many[Count]
    outcomes: Counts
    ended_by: Counts
    left_out: Text
    off_board: Text
    accuracy: Comparison
    measures: Measures
    staleness_max: Count | None
    to_target: Few[Hits]
    curves: Annotated[dict[Word, Curve], Field(max_length=20)]
    staleness: Several[Number]
    participation: Participation | None
    validity: Word
    command: Text | None
    command_needs: Text
    provenance: Provenance
    runs: Many[Run]

    @property
    def made(self) -> list[Provenance]:
        """The whole provenance of every run."""
        return [self.provenance.model_copy(update=run.provenance.model_dump(exclude_defaults=True)) for run in self.runs]

    @property
    def means(self) -> dict[str, float | None]:
        return {name: value.mean for name, value in self.measures.items()}

    @property
    def loses_jobs(self) -> bool:
        """Whether jobs can be lost. The rows of a scenario have the same answer."""
        return "lost_share" in self.measures


class Section(Part):
    """A scenario with its rows. `full_name` has the settings that tell it from others of its
    name."""

    name: Word
    full_name: Text
    settings: Several[Text]
    hash: Annotated[str, Field(max_length=100)]
    task: Word
    model: Word | None
    clients: Count | None
    public: PublicPart | None
    budget: BudgetPart
    targets: Few[Target]
    horizon: Horizon
    rows: Many[Row]

    @property
    def goals(self) -> list[float]:
        """The targets, which are test accuracies."""
        return [one.value for one in self.targets]
