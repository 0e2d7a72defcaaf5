"""An executor that begins no task any more once time is over."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from fedbench.launch.executors import Executor, Hear, Work

T = TypeVar("T")
R = TypeVar("R")


class InTime:
    """Hands tasks to another executor until `is_over`. Those under way then come to their end, and
    nothing is heard of the others."""

    def __init__(self, inner: Executor, is_over: Callable[[], bool]) -> None:
        self.inner, self.is_over = inner, is_over

    @property
    def shares_files(self) -> bool:
        return self.inner.shares_files

    def run(self, work: Work[T, R], tasks: Sequence[T], hear: Hear[R]) -> None:
        self.inner.run(work, _WhileInTime(tasks, self.is_over), hear)


class _WhileInTime(Sequence[T]):
    """Tasks at whose end an executor, which takes one after the other, arrives once it
    `is_over`."""

    def __init__(self, tasks: Sequence[T], is_over: Callable[[], bool]) -> None:
        self.tasks, self.is_over = tasks, is_over

    def __getitem__(self, index: Any) -> Any:
        return self.tasks[index]

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[T]:
        return itertools.takewhile(lambda task: not self.is_over(), self.tasks)
