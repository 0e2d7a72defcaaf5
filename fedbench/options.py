"""Options of algorithms. An annotation gives the range of an option, its field has a sentence about
it, and `checked` compares values with the annotation."""

from __future__ import annotations

import dataclasses
import functools
import math
import typing
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, ClassVar, Literal, TypeVar

from fedbench.errors import UsageError


@dataclass(frozen=True)
class Range:
    """A range of finite numbers, as the annotation of an option: `Annotated[float, Range(low=0)]`.

    Both ends are included, but for the one that `open` names.

    Attributes
    ----------
    low : float
        The lower end.
    high : float
        The upper end.
    open : {"low", "high"} or None
        The end that is excluded.
    """

    low: float = -math.inf
    high: float = math.inf
    open: Literal["low", "high"] | None = None

    def __contains__(self, value: object) -> bool:
        excluded = (self.low,) if self.open == "low" else (self.high,) if self.open == "high" else ()
        if not isinstance(value, int | float):
            return False
        return self.low <= value <= self.high and value not in excluded and math.isfinite(value)

    def __str__(self) -> str:
        low = "" if self.low == -math.inf else f"{'>' if self.open == 'low' else '>='} {self.low:g}"
        high = "" if self.high == math.inf else f"{'<' if self.open == 'high' else '<='} {self.high:g}"
        return " and ".join(part for part in (low, high) if part)


Positive = Annotated[float, Range(low=0, open="low")]
"""A number > 0."""
NonNegative = Annotated[float, Range(low=0)]
"""A number >= 0."""
Fraction = Annotated[float, Range(low=0, high=1)]
"""A number >= 0 and <= 1."""
BelowOne = Annotated[float, Range(low=0, high=1, open="high")]
"""A number >= 0 and < 1."""
Count = Annotated[int, Range(low=1)]
"""A whole number >= 1."""
CountOrZero = Annotated[int, Range(low=0)]
"""A whole number >= 0."""
MOST = 1e9
"""The largest number, but for its sign, that is tried."""


@dataclass(frozen=True)
class Log:
    """The values of an option that are tried when it is tuned: from `low` to `high`, uniform in the
    logarithm. They are whole numbers if the option takes whole numbers.

    Attributes
    ----------
    low : float
        The smallest value, > 0.
    high : float
        The largest value.
    rate : bool
        Whether the option is a rate of learning though its name does not end in `_lr`.
    scale : {"log", "linear"}
        The scale on which they are uniform, which is that of the class.

    Raises
    ------
    UsageError
        The two numbers make no interval.
    """

    low: float
    high: float
    rate: bool = False
    scale: ClassVar[Literal["log", "linear"]] = "log"

    def __post_init__(self) -> None:
        for key in ("low", "high"):
            value: object = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MOST:
                raise UsageError(f"{type(self).__name__}: {key} must be a number from {-MOST:g} to {MOST:g}, got {value!r:.80}")
        if why := why_no_interval(self.low, self.high, self.scale):
            raise UsageError(f"{type(self).__name__}: {why}")


class Linear(Log):
    """The same as `Log`, but uniform between `low` and `high`, and `low` may be any number.

    Attributes
    ----------
    low : float
        The smallest value.
    high : float
        The largest value.
    rate : bool
        Whether the option is a rate of learning though its name does not end in `_lr`.
    scale : {"log", "linear"}
        The scale on which they are uniform, which is that of the class.
    """

    scale: ClassVar[Literal["log", "linear"]] = "linear"


def in_words(values: Log) -> str:
    """Returns the values that are tried in words: `0.001 to 1 (log)`."""
    return f"{values.low:g} to {values.high:g} ({values.scale})"


def why_no_interval(low: float, high: float, scale: str) -> str:
    """Returns why two numbers are no ends of values that are tried; empty if they are."""
    if high <= low:
        return f"high must be > low, got low {low:g}, high {high:g}"
    return f"low must be > 0 with scale: log, got {low:g}" if scale == "log" and low <= 0 else ""


T = TypeVar("T")
WORDS: dict[object, str] = {float: "a number", int: "an integer", bool: "true or false", NoneType: "none", str: "text"}


def option(default: T, about: str = "", source: str = "", search: Log | None = None) -> T:
    """Returns a field with the default of a hyper-parameter and what is known about it.

    A field that has a plain default instead is shown without a sentence. One that changes the
    default of a parent class keeps the parent's sentence, so it needs none.

    Parameters
    ----------
    default : object
        The default, of the field's type.
    about : str
        A sentence about the option, which `fedbench info` shows.
    source : str
        Where the default comes from, such as "Table 2".
    search : Log or Linear, optional
        The values that are tried when the option is tuned, unless the search space has an entry for
        the algorithm.

    Returns
    -------
    object
        A dataclass field, typed as the default.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from fedbench.protocols import Algorithm, Positive, option
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Slow(Algorithm):
    ...     server_lr: Positive = option(0.1, "The server's learning rate.", "Table 2")
    >>> Slow(server_lr=-1)
    Traceback (most recent call last):
        ...
    fedbench.errors.UsageError: Slow: server_lr must be a number > 0, got -1
    """
    return dataclasses.field(default=default, metadata={"about": about, "source": source, "search": search})


def hints(cls: Callable[..., object]) -> dict[str, object]:
    """Returns the annotations of a class's fields by name, ranges included."""
    return _hints(cls)


@functools.lru_cache(maxsize=256)
def _hints(cls: Hashable) -> dict[str, object]:
    return typing.get_type_hints(cls, include_extras=True)


def sentence(cls: type, name: str) -> str:
    """Returns the sentence about the option `name` of a class, or empty text if there is none. A
    class that only changes a default inherits the sentence of its parent."""
    return str(_said(cls, name, "about") or "")


def search(cls: type, name: str) -> Log | None:
    """Returns the values of an option that a class declares to be tried, None if it declares none.
    A class that only changes a default inherits those of its parent. Raises UsageError if it
    declares something else."""
    found = _said(cls, name, "search")
    if found is not None and not isinstance(found, Log):
        raise UsageError(f"{cls.__name__}: {name}: search must be Log(low, high) or Linear(low, high), got {found!r:.80}")
    return found


def _said(cls: type, name: str, what: str) -> object:
    """Returns what the option `name` says under the word `what` in a class or else in its
    parents."""
    fields = (vars(parent).get("__dataclass_fields__", {}).get(name) for parent in cls.__mro__)
    return next((said for field in fields if field is not None and (said := field.metadata.get(what))), None)


def source(cls: type, name: str) -> str:
    """Returns what a class says of the source of the default of its option `name`, or empty text. A
    class that does not change the default inherits its source."""
    for parent in cls.__mro__:
        if name in vars(parent).get("__annotations__", {}):
            return str(vars(parent)["__dataclass_fields__"][name].metadata.get("source", ""))
    return ""


def checked(owner: str, name: str, value: object, hint: object) -> object:
    """Returns the value in the type of its field: an int for a float field becomes a float.

    Args:
        owner: the algorithm to which the option belongs, for the message.
        name: the option, for the message.
        value: what a user gave.
        hint: the annotation of the option's field.

    Raises:
        UsageError: the value is not allowed. The message says what is.
    """
    for alternative in _alternatives(hint):
        fits, canonical = _fits(value, alternative)
        if fits:
            return canonical
    raise UsageError(f"{owner}: {name} must be {describe(hint)}, got {value!r:.80}")


def _alternatives(hint: object) -> tuple[object, ...]:
    """Returns the parts of a union, or the annotation itself as the only part."""
    is_union = isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union
    return typing.get_args(hint) if is_union else (hint,)


def _fits(value: object, hint: object) -> tuple[bool, object]:
    """Returns whether the value fits an annotation that is no union, and the value in its type."""
    allowed: Range | None = None
    if typing.get_origin(hint) is Annotated:
        hint, allowed = typing.get_args(hint)[:2]
    if typing.get_origin(hint) is Literal:
        return any(value == choice and type(value) is type(choice) for choice in typing.get_args(hint)), value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    kind = typing.get_origin(hint) or hint
    if kind is tuple and isinstance(value, list):
        value = tuple(tuple(item) if isinstance(item, list) else item for item in value)
    if kind is tuple and isinstance(value, tuple) and Ellipsis in typing.get_args(hint):
        items = [_fits(item, typing.get_args(hint)[0]) for item in value]
        return all(fits for fits, _ in items), tuple(item for _, item in items)
    fits = isinstance(kind, type) and isinstance(value, kind) and not (kind is int and not _is_whole(value))
    return fits and (allowed is None or value in allowed), value


def takes_whole_numbers(hint: object) -> bool:
    """Returns whether the numbers that an annotation allows are integers, as for `Count | None`."""
    return any((typing.get_args(one)[0] if typing.get_origin(one) is Annotated else one) is int for one in _alternatives(hint))


def _is_whole(value: object) -> bool:
    """Returns whether the value is an integer of 64 bits and no boolean."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def describe(hint: object) -> str:
    """Returns an annotation in words: `a number > 0`, `one of 'none', 'sqrt'`, ..."""
    if len(several := _alternatives(hint)) > 1:
        return " or ".join(map(describe, several))
    if typing.get_origin(hint) is Annotated:
        kind, allowed = typing.get_args(hint)[:2]
        return f"{describe(kind)} {allowed}"
    if typing.get_origin(hint) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        parts = [describe(part) for part in typing.get_args(hint) if part is not Ellipsis]
        return f"a list of {parts[0]}" if Ellipsis in typing.get_args(hint) else f"[{', '.join(parts)}]"
    return WORDS.get(hint, str(hint))
