"""The process that runs a local optimiser of somebody's and nothing else: it answers which
parameters the steps of jobs give, and keeps their states."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from fedbench.engine.isolation.child import Asking, main
from fedbench.engine.isolation.imports import code_of

if TYPE_CHECKING:
    from fedbench.own_optimizers import Step
    from fedbench.types import Array, Vector


class ServedOptimizer(Asking):
    """An optimiser, and the steps of the jobs under way by number."""

    def __init__(self, channel: socket.socket) -> None:
        super().__init__(channel)
        self._jobs: dict[int, Step] = {}

    def load(self, given: list[str | None], path: list[str]) -> None:
        """Takes the fields of the code's `Named`, with the import path of the other side."""
        from fedbench.own_optimizers import Own

        self._own = Own(code_of(given, path))

    def begin(self, job: int, parameters: Vector) -> None:
        self._jobs[job] = self._own(parameters)

    def update(self, job: int, parameters: Vector, gradient: Vector, step: int, lr: Array) -> Vector:
        """Returns the new parameters. The rate comes as an array, since it may be no finite
        number."""
        return self._jobs[job](parameters, gradient, step, float(lr[0]))

    def release(self, jobs: list[int]) -> None:
        """Forgets jobs."""
        for job in jobs:
            self._jobs.pop(job, None)


if __name__ == "__main__":
    main(ServedOptimizer)
