"""Local optimisers of the user's own, by their code, `path/to/myopt.py:Lion` or
`package.module:Lion`. Code is run under the rules of `own_models`, and only when jobs are
trained."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import numpy as np

from fedbench import own_models
from fedbench.errors import FedbenchError, UsageError, quoted
from fedbench.foreign import described
from fedbench.optimizer import Optimizer
from fedbench.own_models import Named
from fedbench.types import Vector

Step = Callable[[Vector, Vector, int, float], Vector]
"""A function of parameters, gradient, step and rate, which gives the new parameters."""
Begin = Callable[[Vector], Step]
"""Makes the steps of a new job, given the parameters from which it starts."""


class Own:
    """An optimiser whose code is run here. The first step of all is computed twice, since it must
    depend on its arguments alone."""

    def __init__(self, code: Named) -> None:
        """Runs the code. UsageError unless it has an Optimizer."""
        cls, self.selector = code.found(), code.selector
        if not (isinstance(cls, type) and issubclass(cls, Optimizer)):
            raise UsageError(f"optimizer {self.selector}: expected a class that extends fedbench.Optimizer, got {quoted(cls)}")
        self.cls, self.is_new = cls, True

    def __call__(self, parameters: Vector) -> Step:
        return Steps(self, parameters)

    @contextlib.contextmanager
    def running(self, what: str) -> Iterator[None]:
        """Turns whatever the code raises into a UsageError. Numbers may overflow, as in
        training."""
        try:
            with np.errstate(all="ignore"):
                yield
        except FedbenchError:
            raise
        except Exception as error:
            why, *code = described(error)
            raise UsageError(f"optimizer {self.selector}: {what} fails: {why}", *code) from error


class Steps:
    """The steps of one job: an object and a state of its own."""

    def __init__(self, own: Own, parameters: Vector) -> None:
        self._own = own
        with own.running("init"):
            self._optimizer = own.cls()
            self._state: object = self._optimizer.init(_given(parameters))

    def __call__(self, parameters: Vector, gradient: Vector, step: int, lr: float) -> Vector:
        """Returns the new parameters. UsageError if the code fails or gives anything else."""
        found, own = self._updated(parameters, gradient, step, lr), self._own
        if own.is_new and step == 0:
            if Steps(own, parameters)._updated(parameters, gradient, step, lr).tobytes() != found.tobytes():
                raise UsageError(
                    f"optimizer {own.selector}: gives other parameters for the same arguments the second time; it must depend on its "
                    "arguments alone"
                )
            own.is_new = False
        return found

    def _updated(self, parameters: Vector, gradient: Vector, step: int, lr: float) -> Vector:
        name = f"optimizer {self._own.selector}"
        with self._own.running(f"update in step {step}"):
            found: object = self._optimizer.update(_given(parameters), _given(gradient), self._state, step, lr)
        if not isinstance(found, tuple) or len(found) != 2:
            raise UsageError(f"{name}: update must return parameters and state, got {quoted(found, 80)}")
        new, self._state = found
        if not isinstance(new, np.ndarray) or new.dtype != parameters.dtype or new.shape != parameters.shape:
            got = f"{new.dtype} {new.shape}" if isinstance(new, np.ndarray) else quoted(new, 80)
            widened = (
                "; a numpy float64 scalar times a float32 vector gives float64: use Python floats" if "float64" in got else ""
            )
            raise UsageError(f"{name}: update must return parameters {parameters.dtype} {parameters.shape}, got {got}{widened}")
        return np.array(new)


def _given(vector: Vector) -> Vector:
    """Returns a read-only copy, which a state may keep."""
    copy = vector.copy()
    copy.flags.writeable = False
    return copy


def made(code: str, sha256: str) -> Begin:
    """Returns the optimiser whose code has this sum. OriginError if the user has not named it, or
    it has changed."""
    named = own_models.of(code, sha256, "optimizer")
    there: Begin | None = own_models.there(named)
    return there or Own(named)
