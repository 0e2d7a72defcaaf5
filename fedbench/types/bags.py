"""Named values: what the server owns, what a version sends, what a job sends back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.types.arrays import Vector


class Bag:
    """Named values. A name that was not given at construction is refused, so a typing error cannot
    create a new one."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(sorted(self.__dict__))}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(sorted(self.__dict__))}")
        self.__dict__[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def items(self) -> Iterator[tuple[str, Any]]:
        return iter(self.__dict__.items())


class State(Bag):
    """What the server owns: `x` (d,) always, `memory` (ClientTable) if clients remember, anything
    else by name.

    A checkpoint holds it: arrays keep the dtype and shape that they have after `init`, names stay,
    None may become anything."""


class Message(Bag):
    """What one version sends to the clients that start from it."""

    def frozen(self) -> Message:
        """A deep copy whose arrays are read-only; the engine keeps it as long as a job may start
        from it."""
        return Message(**{name: frozen(value) for name, value in self.items()})


class Reply:
    """What a job sends, by name (vectors, or arrays of one shape for all jobs), and the client's
    new memory (None: unchanged). A number that is not finite ends the run as diverged."""

    def __init__(self, *, memory: Vector | None = None, **sent: npt.NDArray[Any]) -> None:
        self.memory = memory
        self.sent = sent


def frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.flags.writeable = False
    return value
