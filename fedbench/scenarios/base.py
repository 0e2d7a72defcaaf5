"""The base class of all parts of a scenario, and the types of their numbers."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError


def _number(value: object) -> object:
    """Returns the value. Refuses truth values and texts such as "3", which pydantic would turn into
    numbers."""
    if isinstance(value, bool | str):
        raise PydanticCustomError("not_a_number", "true, false and text are no numbers")
    return value


Integer = Annotated[int, BeforeValidator(_number)]
Float = Annotated[float, BeforeValidator(_number)]
PositiveFloat = Annotated[Float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Seconds = Annotated[Float, Field(ge=0, le=1e9, allow_inf_nan=False)]
PositiveInt = Annotated[Integer, Field(ge=1, le=2**31 - 1)]


class Part(BaseModel):
    """Base class of all parts, which cannot be changed and refuse unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self._check()
        return self

    def _check(self) -> None:
        """Raises ValueError if values that are right by themselves do not go together."""
