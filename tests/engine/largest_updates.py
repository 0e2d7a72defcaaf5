"""An algorithm whose cohort depends on the model: clients with the largest last progress, in the
manner of power of choice."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import kernels as k
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.protocols import Algorithm, Count, SelectionTools, Tools
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.types import Batch, Dispatch, Info, Rounds, State, Vector


@dataclass(frozen=True, kw_only=True)
class LargestUpdates(Algorithm):
    """Of `candidates` clients drawn among those that are there, the `cohort_size` with the largest last |Delta|; unknown ones first.

    x <- x + mean Delta
    """

    name = "largest_updates"
    cohort_size: Count = 2
    candidates: Count = 4

    def dispatch(self, info: Info) -> Dispatch:
        return Rounds(select="external")

    def init(self, x0: Vector, tools: Tools) -> State:
        return State(x=x0, norms=np.full(tools.info.clients, 1e3))

    def select(
        self, state: State, available: npt.NDArray[np.int32], round: int, tools: SelectionTools
    ) -> Sequence[int] | npt.NDArray[np.integer[Any]]:
        drawn = available[tools.random.permutation(len(available))[: self.candidates]]
        return drawn[np.lexsort((drawn, -state.norms[drawn]))[: self.cohort_size]]

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        state.norms[batch.clients] = [k.norm(delta) for delta in batch.delta]
        state.x = state.x + k.mean(batch.delta)


def spec(*overrides: str, seed: int = 0, **options: Any) -> RunSpec:
    small = ["task.model=softmax", "local.steps=4", "budget.updates=12", "clients=8"]
    return RunSpec(load("digits-flaky", [*small, *overrides]), LargestUpdates(**options), seed)


if __name__ == "__main__":  # a run that is killed by its own process after so many versions
    folder, last = sys.argv[1], int(sys.argv[2])

    def progress(version: int, seconds: float, evaluated: object) -> None:
        if version == last:
            os.kill(os.getpid(), 9)

    Run(spec(), Store(folder), RunOptions(checkpoint_seconds=0), progress).record()
