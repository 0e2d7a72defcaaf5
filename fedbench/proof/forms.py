"""The forms that conformance vectors have in common. Keys that a form does not name are ignored."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from fedbench.proof.compare import compare

Tolerance = dict[str, float]
ByPrecision = dict[str, Tolerance]


class Form(BaseModel):
    """A part of a vector."""

    model_config = ConfigDict(strict=True, frozen=True)


class JobForm(Form):
    """A job of a plan. `job` is its name in the vector."""

    job: int
    client: int
    base: int
    steps: int


class Checked(Form):
    """A vector that checks us."""

    @abstractmethod
    def check(self, precision: str) -> float:
        """Returns the largest error as a fraction of its tolerance. Raises Unsupported or
        Mismatch."""


class Values(Checked):
    """A vector that expects values by name."""

    expected: dict[str, object]
    tolerance: dict[str, ByPrecision]

    def largest(self, got: Mapping[str, object], precision: str) -> float:
        return max(compare(got[name], want, self.tolerance[name][precision], name) for name, want in self.expected.items())
