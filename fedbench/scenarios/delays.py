"""Parts of a scenario: delays by class of client, and local steps that differ (step asynchronism)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fedbench.scenarios.part import Float, Part, PositiveFloat, Seconds


class NormalSteps(Part):
    """K = max(1, floor(|X|)) local steps, X ~ Normal(mean, variance): drawn once per client (fixed) or for every job (random).

    Source: step asynchronism of FedaGrac (Wu et al. 2021), whose code has no lower cap; the standard deviation is sqrt(variance).
    """

    mean: PositiveFloat
    variance: Annotated[Float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 0.0
    mode: Literal["fixed", "random"] = "fixed"


class SizeScore(Part):
    """Clients with many examples are slow: they are ranked by (n_i - mean n) / std n + gamma e_i, e_i ~ N(0, 1); the first
    floor(long_share N) are long, the next round(medium_share N) medium, the others short. gamma = 0: by size alone.

    Source: Wang et al. 2025, who say that the class depends on size and gamma, the more the smaller gamma, with at most 10% long; the rule
    is ours.
    """

    kind: Literal["size_score"] = "size_score"
    gamma: Annotated[Float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 1.0
    long_share: Annotated[Float, Field(ge=0, le=1)] = 0.1
    medium_share: Annotated[Float, Field(ge=0, le=1)] = 0.3


class Fadas(Part):
    """Whatever the sizes: the largest share of a draw from Dirichlet(3 scale, 2 scale, scale) says short, medium or long.

    Source: public code of FADAS (yujiaw98/FADAS), whose `--scale` is 1.
    """

    kind: Literal["fadas"]
    scale: Annotated[Float, Field(ge=1e-3, le=1e6)] = 1.0


class DelayClasses(Part):
    """A job takes U(low, high) seconds, drawn for every job, with the [low, high] of the client's class, whatever its steps.

    Source: Wang et al. 2025 and FADAS, whose unit of 1 is 10 seconds here. Their long class is U(50, 80) with large delays; with mild ones
    U(10, 20) in Wang et al. 2025 and U(5, 8) in FADAS's code.
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
