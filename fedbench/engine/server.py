"""What the server itself computes with models: how long it takes, and what a plan has of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from fedbench.engine import declared
from fedbench.engine.ledger import Ledger
from fedbench.kernels.scheduler import NANOSECONDS
from fedbench.protocols import Algorithm
from fedbench.results.sections import Ledger as Totals
from fedbench.types import PASSES_OF_A_GRADIENT, Info, ServerWork


@dataclass(frozen=True)
class ServerCost:
    """The work of an algorithm's server under a scenario.

    work: what it computes.
    public_logits: the largest number of logits that it keeps.
    gradients_per_second: its speed in gradients of examples, which are three forward passes each;
        None: its work takes no time.
    """

    work: ServerWork
    public_logits: int
    gradients_per_second: float | None

    @classmethod
    def of(cls, algorithm: Algorithm, info: Info, gradients_per_second: float | None) -> Self:
        memory = declared.server_memory(algorithm, info)
        return cls(declared.server_work(algorithm, info), memory.public_logits, gradients_per_second)

    @property
    def seconds(self) -> float:
        """The virtual seconds of the work for an update."""
        return self._seconds_of(self.work.passes)

    @property
    def first_seconds(self) -> float:
        """The virtual seconds of the work before the first job."""
        return self._seconds_of(self.work.first_passes)

    def _seconds_of(self, passes: int) -> float:
        speed = self.gradients_per_second
        return 0.0 if speed is None else passes / PASSES_OF_A_GRADIENT / speed

    def counted(self, totals: Totals, start_seconds: float, dim: int) -> Totals:
        """Returns the ledger of a plan with what the server has computed by its end, in examples,
        and the public logits that it keeps at most, in vectors of the model's size `dim`. With a
        speed, the seconds that it has worked are there too. The work before the first job counts
        when that job starts, at `start_seconds`."""
        begun, work = int(start_seconds <= totals.end_seconds), self.work
        busy = begun * self.first_seconds + totals.updates * self.seconds
        return totals.model_copy(
            update={
                "server_forward_examples": begun * work.first_forward + totals.updates * work.forward,
                "server_gradient_examples": begun * work.first_gradients + totals.updates * work.gradients,
                "public_logits_vectors": self.public_logits / dim,
                "server_busy_seconds": None if self.gradients_per_second is None else busy,
            }
        )

    def passes_on_grid(self, ledger: Ledger, start_seconds: float, points: int) -> npt.NDArray[np.int64]:
        """Returns the running total of the work at the grid points 0 .. points - 1, in forward
        passes of an example; a gradient counts as three. The work of an update counts when its
        version is there."""
        begun = ledger.grid.times_ns(points) >= round(start_seconds * NANOSECONDS)
        return begun * self.work.first_passes + ledger.on_grid("updates", points) * self.work.passes
