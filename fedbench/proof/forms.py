"""The forms that conformance vectors have in common. Keys that a form does not name are ignored."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from fedbench.proof.compare import compare

T = TypeVar("T")
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
    """A vector that expects values by name, of a function of its inputs."""

    inputs: dict[str, Any]
    expected: dict[str, object]
    tolerance: dict[str, ByPrecision]

    def of(self, function: Callable[..., T], *first: object) -> T:
        """Returns what a function makes of the inputs that it names, or of all if it takes any."""
        names = inspect.signature(function).parameters
        takes_any = any(one.kind is one.VAR_KEYWORD for one in names.values())
        return function(*first, **{name: value for name, value in self.inputs.items() if takes_any or name in names})

    def largest(self, got: Mapping[str, object], precision: str) -> float:
        return max(compare(got[name], want, self.tolerance[name][precision], name) for name, want in self.expected.items())
