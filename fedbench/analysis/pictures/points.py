"""The data of a picture of the points of a suite over factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["design", "held_out", "other_clients"]
ORDER: tuple[Kind, ...] = ("design", "held_out", "other_clients")


@dataclass(frozen=True)
class FactorLine:
    """A factor: its levels in words, from the first to the last."""

    name: str
    unit: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class PointColumn:
    """A point: the number of its level of every factor, and whether the whole search for options is
    made there."""

    name: str
    kind: Kind
    levels: tuple[int, ...]
    is_anchor: bool


@dataclass(frozen=True)
class DesignPicture:
    """All points, by kind, in the order of their levels."""

    suite: str
    factors: tuple[FactorLine, ...]
    points: tuple[PointColumn, ...]
