"""Parts of a scenario: the virtual times at which models are evaluated. Evaluation takes no virtual
time and does not change the run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from fedbench.kernels.timing import NANOSECONDS
from fedbench.scenarios.base import Float, Part
from fedbench.scenarios.grid import EvenGrid, Grid, log_grid


class EvenEvaluation(Part):
    """Evaluation at 0 and every `every_seconds` from there on. It is the kind where none is
    given."""

    kind: Literal["even"] = "even"
    every_seconds: Annotated[Float, Field(ge=1e-3, le=1e9)]

    @property
    def grid(self) -> Grid:
        return EvenGrid(round(self.every_seconds * NANOSECONDS))

    def step_seconds(self, at: float) -> float:
        """Returns the distance of two points at a time in seconds."""
        return self.every_seconds

    @property
    def spacing(self) -> dict[str, float | None]:
        """The distance of two points, or the quotient of their times, as a site's data have it."""
        return {"every_seconds": float(self.every_seconds), "ratio": None}

    def evaluations(self, seconds: float) -> float:
        """Returns about how many points a run of so many seconds has after 0."""
        return seconds / self.every_seconds


class LogEvaluation(Part):
    """Evaluation at 0, at `first_seconds`, and from there on at times that grow by `ratio`. So fast
    and slow runs are resolved alike, relative to their time."""

    kind: Literal["log"]
    first_seconds: Annotated[Float, Field(ge=1e-3, le=1e9)]
    ratio: Annotated[Float, Field(ge=1.001, le=10)]

    @property
    def grid(self) -> Grid:
        return log_grid(round(self.first_seconds * NANOSECONDS), self.ratio)

    def step_seconds(self, at: float) -> float:
        """Returns the distance of two points at a time in seconds."""
        return max(self.first_seconds, at * (1 - 1 / self.ratio))

    @property
    def spacing(self) -> dict[str, float | None]:
        """The distance of two points, or the quotient of their times, as a site's data have it."""
        return {"every_seconds": None, "ratio": float(self.ratio)}

    def evaluations(self, seconds: float) -> float:
        """Returns how many points a run of so many seconds has after 0."""
        return float(self.grid.points_until(round(seconds * NANOSECONDS)) - 1)


def _kind(value: object) -> str:
    return str(value.get("kind", "even") if isinstance(value, dict) else getattr(value, "kind", "even"))


EvaluationPart = Annotated[
    Annotated[EvenEvaluation, Tag("even")] | Annotated[LogEvaluation, Tag("log")],
    Discriminator(_kind),
]
