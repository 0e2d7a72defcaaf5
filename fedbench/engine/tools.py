"""The tools that a run gives to its algorithm: see fedbench.tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedbench.protocols import Logits, Pullback, RowIndices
from fedbench.types import Info, Vector

if TYPE_CHECKING:
    from fedbench.engine.execute import Execution


@dataclass(frozen=True)
class EngineTools:
    """What the algorithm's `init`, `broadcast` and `step` may use: see protocols.Tools."""

    execution: Execution

    @property
    def info(self) -> Info:
        return self.execution.info

    def gradients(self, clients: Iterable[int], x: Vector) -> Iterator[Vector]:
        return self.execution.backend.gradients(clients, x, self.execution.buffers)

    @property
    def public_shape(self) -> tuple[int, int]:
        return self.execution.public.shape

    def public_batches(self, version: int, size: int, steps: int | None = None) -> Iterator[RowIndices]:
        return self.execution.public.batches(version, size, steps)

    def public_logits(self, x: Vector, rows: RowIndices, *, training: bool = False) -> tuple[Logits, Pullback]:
        e = self.execution
        return e.public.logits(x, e.buffers, rows, e.version, training=training)
