"""What the parts of a scenario are made of."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError


def _no_boolean(value: Any) -> Any:
    """YAML's yes and no, which pydantic takes for 1 and 0."""
    if isinstance(value, bool):
        raise PydanticCustomError("boolean", "true and false are no numbers")
    return value


Integer = Annotated[int, BeforeValidator(_no_boolean)]
Float = Annotated[float, BeforeValidator(_no_boolean)]
PositiveFloat = Annotated[Float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Seconds = Annotated[Float, Field(ge=0, le=1e9, allow_inf_nan=False)]
PositiveInt = Annotated[Integer, Field(ge=1, le=2**31 - 1)]


class Part(BaseModel):
    """Base of all parts: frozen, strict about unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
