"""Containers of named values: the server's state, a version's message, and a job's reply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, cast

from fedbench.types.arrays import Array, Vector, is_array

T = TypeVar("T")


class Bag:
    """Named values as attributes.

    A name that was not given at construction is refused, so that a misspelt name cannot create a
    new value. `name in bag` tells whether there is one.

    Parameters
    ----------
    **fields : object
        The values by name.

    Raises
    ------
    AttributeError
        A name that the bag does not have is read or set.
    """

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        raise self._unknown(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise self._unknown(name)
        self.__dict__[name] = value

    def _unknown(self, name: str) -> AttributeError:
        return AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(sorted(self.__dict__))}")

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yields the values with their names, in the order in which they were given.

        Yields
        ------
        tuple of (str, object)
            A name and its value.
        """
        return iter(self.__dict__.items())


class State(Bag):
    """The server's state: the model, and what else the algorithm keeps from update to update.

    A checkpoint holds the state. Therefore the names stay those that `init` gave, and arrays keep
    the dtype and shape that they have after `init`. A value that is None may become anything.

    Parameters
    ----------
    **fields : object
        `x`, the model (d,), always. `memory`, a ClientTable, if clients remember a vector. An
        algorithm adds what else it needs, by name.
    """


class Message(Bag):
    """What one version of the model sends to the clients that start from it.

    Parameters
    ----------
    **fields : object
        What is sent, by name: `x`, the model (d,), and what an algorithm's own `broadcast` adds.
    """

    def frozen(self) -> Message:
        """Returns a copy whose arrays are copied too and read-only.

        The engine keeps the copy as long as a job may start from it.

        Returns
        -------
        Message
            The copy.
        """
        return Message(**{name: frozen(value) for name, value in self.items()})


class Reply:
    """What a job sends back.

    Parameters
    ----------
    memory : array (d,), optional
        The client's new memory. None leaves it as it was.
    **sent : array
        What the server gets, by name: vectors or other arrays, each of one shape for all jobs. A
        number that is not finite ends the run as diverged.
    """

    def __init__(self, *, memory: Vector | None = None, **sent: Array) -> None:
        self.memory = memory
        self.sent = sent


def frozen(value: T) -> T:
    """Returns a read-only copy of an array, and anything else as it is.

    Parameters
    ----------
    value : object
        An array, or any other value.

    Returns
    -------
    object
        The copy of an array, else `value` itself.
    """
    if not is_array(value):
        return value
    copy = value.copy()
    copy.flags.writeable = False
    return cast(T, copy)
