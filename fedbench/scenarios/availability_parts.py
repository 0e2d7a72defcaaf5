"""Parts of a scenario: when clients are there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fedbench.scenarios.base import Float, Part, PositiveFloat, Seconds


class Always(Part):
    """Every client is always there."""

    kind: Literal["always"] = "always"


class Absent(Part):
    """Base of the parts in which clients are sometimes absent. The job of a client that leaves is
    lost at that instant, or it pauses until the client is back, as `when_offline` says."""

    when_offline: Literal["lost", "paused"] = "lost"


class Periodic(Absent):
    """A client is there for the first `on_fraction` of every `period_seconds`. At time 0 it is the
    fraction `phase` into its period; without a phase, every client draws one uniformly."""

    kind: Literal["periodic"]
    period_seconds: PositiveFloat
    on_fraction: Annotated[Float, Field(gt=0, le=1)]
    phase: Annotated[Float, Field(ge=0, lt=1)] | None = None


class Rarely(Part):
    """Absences of another mean for some clients, each of which is drawn with probability
    `share`."""

    share: Annotated[Float, Field(ge=0, le=1)]
    mean_off_seconds: Seconds


class Alternating(Absent):
    """Stays and absences alternate. They are independent and exponential with these means, and the
    process is stationary from time 0."""

    kind: Literal["alternating"]
    mean_on_seconds: Annotated[Float, Field(ge=1e-3, le=1e9)]
    mean_off_seconds: Seconds
    rarely: Rarely | None = None


class Windows(Absent):
    """Given windows: `rows` holds the [on, off] pairs of every client, in seconds, ascending and
    apart. With `period_seconds` they repeat.

    The file of a scenario can have `file` instead of rows: the name of a CSV or JSON file of
    client, on, off.
    """

    kind: Literal["table"]
    rows: tuple[tuple[tuple[Seconds, Seconds], ...], ...]
    period_seconds: PositiveFloat | None = None
