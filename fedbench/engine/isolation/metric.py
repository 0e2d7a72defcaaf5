"""A metric whose code runs in another process. What it gives comes from there as an array, and is
checked as such."""

from __future__ import annotations

import numpy as np

from fedbench.engine.isolation.process import Process
from fedbench.errors import PluginError
from fedbench.types import Array


class There:
    """Has a Process compute a metric. The examples are sent once."""

    def __init__(self, process: Process) -> None:
        self._process, self._sent = process, False

    def __call__(self, logits: Array, labels: Array, features: Array) -> float:
        if not self._sent:
            self._process.call("examples", labels, features)
            self._sent = True
        found = self._process.call("value", logits)
        if not isinstance(found, np.ndarray) or found.shape != (1,) or found.dtype != np.float64:
            raise PluginError(f"{self._process.name}: its process gives no value that can be used")
        return float(found[0])
