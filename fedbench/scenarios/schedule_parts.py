"""Parts of a scenario: schedules of the clients' rate.

A schedule gives a factor of the rate for t = 0, 1, ..: the base version of a job, or the local step
within a job. Factors are made of sums, products and quotients only, so they have the same bits on
every machine.
"""

from __future__ import annotations

import bisect
import math
from typing import Annotated, Literal

from pydantic import Discriminator, Field

from fedbench.scenarios.base import Float, Integer, Part, PositiveInt

Factor = Annotated[Float, Field(gt=0, le=1000, allow_inf_nan=False)]
Below = Annotated[Float, Field(gt=0, lt=1)]
Last = Annotated[Float, Field(ge=0, le=1)]
Place = Annotated[Integer, Field(ge=0, le=2**31 - 1)]


class Schedule(Part):
    """A schedule of the rate. With `by: version`, t is the version of the model that the client
    received, so a late client works with the rate of that version. With `by: local_step`, t counts
    the steps of a job, and begins at 0 in every job."""

    by: Literal["version", "local_step"] = "version"

    def factor(self, t: int) -> float:
        """Returns the factor of the rate at t."""
        raise NotImplementedError


class Exponential(Schedule):
    """The factor is decay^t."""

    kind: Literal["exponential"]
    decay: Below

    def factor(self, t: int) -> float:
        return power(self.decay, t)


class Drops(Schedule):
    """The factor is decay^floor(t / every)."""

    kind: Literal["step"]
    decay: Below
    every: PositiveInt

    def factor(self, t: int) -> float:
        return power(self.decay, t // self.every)


class Cosine(Schedule):
    """The factor falls from 1 at t = 0 to `last` at t = `until`, as half a period of a cosine, and
    stays there."""

    kind: Literal["cosine"]
    until: PositiveInt
    last: Last = 0.0

    def factor(self, t: int) -> float:
        return self.last if t >= self.until else self.last + (1 - self.last) * (1 + cosine_of_half_turns(t, self.until)) / 2


class Table(Schedule):
    """The factor is that of the last of `at` that is at most t. The first of `at` is 0."""

    kind: Literal["table"]
    at: Annotated[tuple[Place, ...], Field(min_length=1, max_length=1000)]
    factors: Annotated[tuple[Factor, ...], Field(max_length=1000)]

    def _check(self) -> None:
        if len(self.at) != len(self.factors):
            raise ValueError(f"expected a factor for each of at, got {len(self.at)} of at and {len(self.factors)} factors")
        if self.at[0] != 0:
            raise ValueError(f"at: expected 0 first, got {self.at[0]}")
        if any(later <= earlier for earlier, later in zip(self.at, self.at[1:], strict=False)):
            raise ValueError(f"at: expected ascending numbers, got {', '.join(map(str, self.at))}")

    def factor(self, t: int) -> float:
        return self.factors[bisect.bisect_right(self.at, t) - 1]


AnySchedule = Annotated[Exponential | Drops | Cosine | Table, Discriminator("kind")]


def power(base: float, exponent: int) -> float:
    """Returns base^exponent by squaring. The pow of machines differs in the last bit."""
    result = 1.0
    while exponent:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


def cosine_of_half_turns(t: int, of: int) -> float:
    """Returns cos(pi t / of) for 0 <= t <= of, by its series up to a right angle."""
    if 2 * t > of:
        return -cosine_of_half_turns(of - t, of)
    angle = math.pi * t / of
    square = angle * angle
    term = total = 1.0
    for n in range(1, 13):
        term *= -square / ((2 * n - 1) * (2 * n))
        total += term
    return total
