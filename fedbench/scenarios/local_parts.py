"""Parts of a scenario: the local work of a job, and steps that differ from client to client (step asynchronism)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from fedbench.scenarios.part import Float, Part, PositiveFloat, PositiveInt


class NormalSteps(Part):
    """K = max(1, floor(|X|)) local steps, X ~ Normal(mean, variance): drawn once per client (fixed) or for every job (random).

    Source: step asynchronism of FedaGrac ([001], experiments), whose code has no lower cap; the standard deviation is sqrt(variance).
    """

    mean: PositiveFloat
    variance: Annotated[Float, Field(ge=0, le=1e9, allow_inf_nan=False)] = 0.0
    mode: Literal["fixed", "random"] = "fixed"


BRANCHES = ("number", "drawn")
"""Of a union without a key that chooses: pydantic names them in its errors, a file does not."""
NumberOfSteps = Annotated[PositiveInt, Tag("number")]
DrawnSteps = Annotated[NormalSteps, Tag("drawn")]


def _kind_of_steps(value: object) -> str:
    return "drawn" if isinstance(value, NormalSteps | dict) else "number"


class LocalPart(Part):
    """Local work of a job: `steps` mini-batches, a number or drawn, or as many as `epochs` passes over the client's data take."""

    steps: Annotated[NumberOfSteps | DrawnSteps, Discriminator(_kind_of_steps)] | None = None
    epochs: PositiveInt | None = None
    batch_size: PositiveInt = 10

    @model_validator(mode="after")
    def _one_of(self) -> LocalPart:
        if (self.steps is None) == (self.epochs is None):
            raise ValueError(f"exactly one of steps and epochs is needed, got {'neither' if self.steps is None else 'both'}")
        return self
