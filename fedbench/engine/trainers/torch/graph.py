"""Work on a device that is the same every time, launched as one CUDA graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Protocol

import torch

from fedbench.foreign import named

Work = Callable[[], None]


class Graphs(Protocol):
    """How a device makes graphs, until it refuses one."""

    refusal: str

    def aside(self, work: Work) -> None:
        """Does the work as it must be done once before it is captured."""

    def captured(self, work: Work) -> Work:
        """Returns what does the operations of `work` again, on the same memory. The work is not
        done. RuntimeError if it cannot be captured."""


class CudaGraphs:
    """Those of CUDA, which wants a stream beside the default one for both. They share one pool of
    memory, since none leaves anything there that another needs."""

    def __init__(self) -> None:
        self.refusal = ""
        self.pool = torch.cuda.graph_pool_handle()

    def aside(self, work: Work) -> None:
        stream, current = torch.cuda.Stream(), torch.cuda.current_stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            work()
        current.wait_stream(stream)

    def captured(self, work: Work) -> Work:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            work()
        return graph.replay


class Repeated:
    """Does work again and again: operation by operation, or as a graph.

    The work must read and write the same memory every time, and must not wait for the device. Where
    such work cannot be captured, all goes operation by operation from then on, and a warning says
    so once.
    """

    def __init__(self, work: Work, graphs: Graphs | None) -> None:
        """`graphs` is None where a device has none."""
        self.work, self.graphs, self.replay = work, graphs, work

    def _graphs(self) -> Graphs | None:
        """Returns what is to capture it still."""
        return None if self.graphs is None or self.graphs.refusal or self.replay is not self.work else self.graphs

    def once(self) -> None:
        """Does it operation by operation."""
        graphs = self._graphs()
        if graphs is None:
            self.work()
        else:
            graphs.aside(self.work)

    def again(self) -> None:
        """Does it as a graph. It was done before."""
        graphs = self._graphs()
        if graphs is not None:
            try:
                self.replay = graphs.captured(self.work)
            except RuntimeError as error:
                graphs.refusal = named(error)
                warnings.warn(f"no CUDA graph of a local step, which goes operation by operation: {named(error)}", stacklevel=2)
        self.replay()
