"""Numbers that a device computes, and that stay there until somebody looks at them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, cast


class Awaited(Sequence[float]):
    """The floats of an array (n,) on a device. Whoever looks at one waits for it; then all are
    copied to the host."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @functools.cached_property
    def _floats(self) -> list[float]:
        return cast(list[float], self._array.tolist())

    def __len__(self) -> int:
        return cast(int, self._array.shape[0])

    def __getitem__(self, index: Any) -> Any:
        return self._floats[index]

    def __repr__(self) -> str:
        return repr(tuple(self))
