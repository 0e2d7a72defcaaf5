"""Parts of a scenario: computing times by class of client."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fedbench.scenarios.base import Float, Part, PositiveFloat, Seconds


class SizeScore(Part):
    """Clients with many examples are slow: they are ranked by (n_i - mean n) / std n + gamma e_i,
    e_i ~ N(0, 1); the first floor(long_share N) are long, the next round(medium_share N) medium,
    the others short. gamma = 0: by size alone.

    Source: Wang et al. 2025, who say that the class depends on size and gamma, the more the smaller
    gamma, with at most 10% long; the rule is ours.
    """

    kind: Literal["size_score"] = "size_score"
    gamma: Annotated[Float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 1.0
    long_share: Annotated[Float, Field(ge=0, le=1)] = 0.1
    medium_share: Annotated[Float, Field(ge=0, le=1)] = 0.3


class Fadas(Part):
    """Whatever the sizes: the largest share of a draw from Dirichlet(3 scale, 2 scale, scale) says
    short, medium or long.

    Source: public code of FADAS (yujiaw98/FADAS), whose `--scale` is 1.
    """

    kind: Literal["fadas"]
    scale: Annotated[Float, Field(ge=1e-3, le=1e6)] = 1.0


class DelayClasses(Part):
    """A job takes U(low, high) seconds, drawn for every job, with the [low, high] of the client's
    class, whatever its steps.

    Source: Wang et al. 2025 and FADAS, whose unit of 1 is 10 seconds here. Their long class is
    U(50, 80) with large delays; with mild ones U(10, 20) in Wang et al. 2025 and U(5, 8) in FADAS's
    code.
    """

    kind: Literal["delay_classes"]
    short_seconds: tuple[Seconds, Seconds] = (10.0, 20.0)
    medium_seconds: tuple[Seconds, Seconds] = (30.0, 50.0)
    long_seconds: tuple[Seconds, Seconds]
    assignment: SizeScore | Fadas = Field(default=SizeScore(), discriminator="kind")

    @model_validator(mode="after")
    def _ordered(self) -> DelayClasses:
        for name in ("short_seconds", "medium_seconds", "long_seconds"):
            low, high = getattr(self, name)
            if high < low:
                raise ValueError(f"{name} must be [low, high] with high >= low, got [{low:g}, {high:g}]")
        return self


class ExponentialSteps(Part):
    """A local step takes an exponential time, whose mean is `slow_mean_seconds` for slow clients
    and `fast_mean_seconds` for others. round(slow_share N) clients are slow, drawn uniformly once
    per seed. The time is drawn for every job and is the same for all its steps.

    Source: the simulation in QuAFL's code (ShayanTalaei/QuAFL), whose means are 2 and 8. One time
    for all steps of a job is ours: the mean of a job is the same, its variance is larger.
    """

    kind: Literal["exponential_steps"]
    fast_mean_seconds: Seconds = 2.0
    slow_mean_seconds: Seconds = 8.0
    slow_share: Annotated[Float, Field(ge=0, le=1)]


class Devices(Part):
    """A local step of client i takes `seconds_per_example[i]` times local.batch_size. In a file,
    `file` names a CSV file of client, seconds_per_example, megabit_per_second instead."""

    kind: Literal["devices"]
    seconds_per_example: tuple[PositiveFloat, ...]
