"""What the parts of a scenario are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

PositiveFloat = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
PositiveInt = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Part(BaseModel):
    """Base of all parts: frozen, strict about unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
