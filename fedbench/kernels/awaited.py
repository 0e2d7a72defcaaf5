"""Numbers that a device computes, and that stay there until somebody uses them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin


class Awaited(NDArrayOperatorsMixin):
    """A float that a device computes. It is copied to the host when it is used, and what becomes of
    it is a float.

    Args:
        numbers: an array on the device, with `tolist`.
        place: the place of this number there.
    """

    def __init__(self, numbers: Any, place: int) -> None:
        self._numbers, self._place = numbers, place

    def __float__(self) -> float:
        return cast(float, self._numbers.tolist()[self._place])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        known = [float(one) if isinstance(one, Awaited) else one for one in inputs]
        return getattr(ufunc, method)(*known, **options)

    def __bool__(self) -> bool:
        return bool(float(self))

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    def __repr__(self) -> str:
        return repr(float(self))


def awaited(numbers: Any, *places: int) -> tuple[float, ...]:
    """Returns the numbers at these places of an array on the device."""
    return cast(tuple[float, ...], tuple(Awaited(numbers, place) for place in places))
