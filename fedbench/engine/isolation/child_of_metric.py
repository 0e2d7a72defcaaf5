"""The process that runs a metric of somebody's and nothing else: it gets a test set once, and then
answers which value logits have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedbench.engine.isolation.child import Asking, main
from fedbench.engine.isolation.imports import code_of

if TYPE_CHECKING:
    from fedbench.types import Array


class ServedMetric(Asking):
    """A metric, and the examples on which it is measured."""

    def load(self, given: list[str | None], stated: list[Any], path: list[str]) -> None:
        """Takes the fields of the code's `Named`, the name and the direction that the record
        states, and the import path of the other side."""
        from fedbench.own_metrics import Measured

        self._measured = Measured(code_of(given, path), stated[0], higher_is_better=stated[1])

    def examples(self, labels: Array, features: Array) -> None:
        self._examples = labels, features

    def value(self, logits: Array) -> Array:
        """Returns the value as an array, since it may be no finite number."""
        import numpy as np

        return np.array([self._measured(logits, *self._examples)])


if __name__ == "__main__":
    main(ServedMetric)
