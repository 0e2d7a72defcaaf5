"""What documents consist of: texts, numbers and collections of a bounded size."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, TypeAdapter

from fedbench import written

T = TypeVar("T")
Word = Annotated[str, Field(max_length=1000)]
Text = Annotated[str, Field(max_length=20_000)]
Line = Annotated[str, Field(min_length=1, max_length=200)]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
Link = Annotated[str, Field(pattern=r"^(https://[^\s\"'<>]+)?$", max_length=1000)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[Number, Field(gt=0)]
Amount = Annotated[Number, Field(ge=0)]
Count = Annotated[int, Field(ge=0, lt=2**63)]
Few = Annotated[tuple[T, ...], Field(max_length=100, strict=False)]
Several = Annotated[tuple[T, ...], Field(max_length=1000, strict=False)]
Many = Annotated[tuple[T, ...], Field(max_length=10_000, strict=False)]
Named = Annotated[dict[Word, T], Field(max_length=1000)]
Points = Many[Number]
Counts = Annotated[dict[Word, Count], Field(max_length=100)]
_NUMBERS = TypeAdapter(Annotated[tuple[Positive, Amount, Positive | None], Field(strict=False)], config=ConfigDict(strict=True))


def _ratio(given: object) -> written.Ratio:
    return given if isinstance(given, written.Ratio) else written.Ratio.of(_NUMBERS.validate_python(given))


Ratio = Annotated[written.Ratio, PlainValidator(_ratio), PlainSerializer(lambda ratio: ratio.numbers)]
"""A ratio of costs. JSON has it as [value, low, high], where high is None if it is not known."""
Kind = Literal["tuned", "default", "given"]
"""How the options of rows were chosen."""
Spent = Literal["seconds", "gradient_evaluations", "bytes"]
"""The axes on which boards are compared."""
SCHEMA: Final = 6
"""The version of the form of documents. It is raised when a reader of the data would notice."""


class Part(BaseModel):
    """A part of a document. Nothing is converted, and no other key is allowed."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def of(cls, found: object) -> Self:
        """Returns the part whose fields are attributes of an object."""
        return cls.model_validate(found, from_attributes=True)
