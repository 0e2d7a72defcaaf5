"""The parts of a scenario that say when a round is closed, and how fast the server is."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fedbench.scenarios.base import Float, Integer, Part


class RoundsPart(Part):
    """Rules for every algorithm that works in rounds.

    A round is closed `deadline_seconds` after its start, with the results that have arrived.
    `over_selection` is how many more clients are selected than a round needs; the first results to
    arrive count.
    """

    deadline_seconds: Annotated[Float, Field(ge=1e-9, le=1e9)] | None = None
    over_selection: Annotated[Integer, Field(ge=0, le=2**31 - 1)] = 0

    @property
    def text(self) -> str:
        """Returns the rules in words; empty if there are none."""
        deadline = "" if self.deadline_seconds is None else f"deadline {self.deadline_seconds:g} s"
        more = f"over-selection {self.over_selection}" if self.over_selection else ""
        return ", ".join(part for part in (deadline, more) if part)


class ServerPart(Part):
    """The server's speed at its own work with models, which some algorithms have.

    It computes the gradients of so many examples in a virtual second, and forward passes three
    times as fast. It makes one update after the other. Without a speed its work takes no time.
    """

    gradients_per_second: Annotated[Float, Field(ge=1e-6, le=1e15)] | None = None
