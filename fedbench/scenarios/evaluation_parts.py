"""Parts of a scenario: the virtual times at which models are evaluated. Evaluation takes no virtual
time and does not change the run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, SerializerFunctionWrapHandler, Tag, model_serializer

from fedbench import own_models
from fedbench.errors import UsageError
from fedbench.kernels.timing import NANOSECONDS
from fedbench.own_metrics import NAME, built_in, is_free
from fedbench.scenarios.base import Float, Part
from fedbench.scenarios.grid import EvenGrid, Grid, log_grid

MOST_OWN = 20
LEAST_FIRST_SECONDS = 1e-3
"""Of a logarithmic grid."""


class MetricPart(Part):
    """A metric beside accuracy and losses, with its name and whether a higher value is a better
    one: one of the library's, or one of one's own, with its code, `path/to/mymetric.py:F1` or
    `package.module:F1`, and the sum of that file. In a list the name or the code alone will do: the
    rest is filled in when the scenario is read."""

    name: Annotated[str, Field(pattern="^" + NAME.pattern + "$")]
    higher_is_better: bool = True
    code: Annotated[str, Field(max_length=4000)] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None

    def _check(self) -> None:
        if (self.code is None) != (self.sha256 is None):
            raise ValueError("code and sha256 belong together, got one of them")
        if self.code is None:
            if built_in(self.name) is not self.higher_is_better:
                raise ValueError(f"expected a metric of the library, or the code of one's own, got {self.name!r}")
            return
        if not is_free(self.name):
            raise ValueError(f"name: expected one that no other curve or column has, got {self.name!r}")
        try:
            own_models.name_of(self.code, "metric")
        except UsageError as error:
            raise ValueError(str(error)) from None

    @model_serializer(mode="wrap")
    def _without_what_others_have(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Returns the keys without those of code where there is none."""
        return {key: value for key, value in handler(self).items() if value is not None}


class _Evaluation(Part):
    """What evaluations of all kinds have. `metrics` are those beside accuracy and losses."""

    metrics: Annotated[tuple[MetricPart, ...], Field(max_length=MOST_OWN)] = ()

    def _check(self) -> None:
        names = [one.name for one in self.metrics]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"metrics: expected every name once, got {twice[0]!r} twice")

    @model_serializer(mode="wrap")
    def _without_what_others_have(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Returns the keys without `metrics` where there are none, so that older records and hashes
        stay as they are."""
        found: dict[str, object] = handler(self)
        if not self.metrics:
            del found["metrics"]
        return found


class EvenEvaluation(_Evaluation):
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


class LogEvaluation(_Evaluation):
    """Evaluation at 0, at `first_seconds`, and from there on at times that grow by `ratio`. So fast
    and slow runs are resolved alike, relative to their time."""

    kind: Literal["log"]
    first_seconds: Annotated[Float, Field(ge=LEAST_FIRST_SECONDS, le=1e9)]
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
