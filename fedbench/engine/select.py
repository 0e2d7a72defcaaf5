"""Asks algorithms that select every round's clients themselves, with Rounds(select="external")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedbench.engine.execute import Execution
from fedbench.errors import FedbenchError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.kernels.scheduler import Scheduler
from fedbench.types import Info, State
from fedbench.types.arrays import is_array


@dataclass(frozen=True)
class SelectionTools:
    """What an algorithm's `select` may use: see protocols.SelectionTools."""

    info: Info
    random: RandomStream


class ClientSelector:
    """Answers a scheduler at every round's start by asking the algorithm with the current state.
    After a resume, the selections that the checkpoint kept are given again first, so that the same
    rounds are played."""

    def __init__(self, execution: Execution, seed: int) -> None:
        self.execution, self.seed = execution, seed
        self.round = 0

    def answer(self, scheduler: Scheduler) -> None:
        made = self.execution.selections
        if self.round == len(made):
            made.append(self._ask(scheduler.available))
        scheduler.select(made[self.round])
        self.round += 1

    def _ask(self, available: npt.NDArray[np.int32]) -> list[int]:
        execution = self.execution
        tools = SelectionTools(execution.info, RandomStream(self.seed, Purpose.selection, 0, self.round))
        state = State(**{name: _read_only(value) for name, value in execution.state.items()})
        return self._checked(execution.algorithm.select(state, available, self.round, tools), available)

    def _checked(self, answer: object, available: npt.NDArray[np.int32]) -> list[int]:
        where = f"{self.execution.algorithm.name}.select, round {self.round}"
        clients = np.asarray(answer)
        if clients.ndim != 1 or clients.size == 0 or clients.dtype.kind not in "iu":
            raise FedbenchError(f"{where}: expected at least one client as whole numbers (n,), got {answer!r}")
        away = np.setdiff1d(clients, available)
        if away.size:
            raise FedbenchError(f"{where}: clients {away[:10].tolist()} are not among the {len(available)} that are there")
        if self.execution.memory is not None and len(np.unique(clients)) < len(clients):
            raise FedbenchError(f"{where}: clients have memory, so a job cannot count twice; got {clients.tolist()}")
        chosen: list[int] = clients.tolist()
        return chosen


def _read_only(value: object) -> object:
    if not is_array(value):
        return value
    view = value.view()
    view.flags.writeable = False
    return view
