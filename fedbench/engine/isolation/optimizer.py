"""A local optimiser whose code runs in another process. What it gives comes from there as an array,
and is checked as such."""

from __future__ import annotations

import functools
import itertools
import threading
import weakref

import numpy as np

from fedbench.engine.isolation.process import Process
from fedbench.errors import PluginError
from fedbench.own_optimizers import Step
from fedbench.types import Vector


class There:
    """Has a Process make the steps of jobs, which have numbers there and keep their states. It
    answers one question at a time."""

    def __init__(self, process: Process) -> None:
        self._process, self._lock, self._numbers = process, threading.Lock(), itertools.count()

    def __call__(self, parameters: Vector) -> Step:
        number = next(self._numbers)
        with self._lock:
            self._process.call("begin", number, parameters)
        step = functools.partial(self._updated, number)
        weakref.finalize(step, self._process.release, number)
        return step

    def _updated(self, number: int, parameters: Vector, gradient: Vector, step: int, lr: float) -> Vector:
        with self._lock:
            found = self._process.call("update", number, parameters, gradient, step, np.array([lr]))
        if not isinstance(found, np.ndarray) or found.shape != parameters.shape or found.dtype != parameters.dtype:
            raise PluginError(f"{self._process.name}: its process gives no parameters that can be used")
        return found
