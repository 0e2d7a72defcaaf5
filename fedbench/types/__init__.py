"""The vocabulary: the values that flow between scheduler, engine and algorithms.

Shapes are written with N clients, d parameters, and K entries that one update consumes. A *vector*
is a one-dimensional C-contiguous array of the run's dtype. Runs use float32; conformance vectors
and theory use float64 too.
"""

from fedbench.types.arrays import Array, Integers, Vector, Weights
from fedbench.types.bags import Bag, Message, Reply, State, frozen
from fedbench.types.costs import PASSES_OF_A_GRADIENT, GradientWork, ServerMemory, ServerWork, Traffic
from fedbench.types.info import Info
from fedbench.types.jobs import Batch, Job, LocalRule, Want, Work
from fedbench.types.policies import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Turns

__all__ = [
    "PASSES_OF_A_GRADIENT",
    "Array",
    "Bag",
    "Batch",
    "Broadcast",
    "Dispatch",
    "GradientWork",
    "Info",
    "Integers",
    "Job",
    "LocalRule",
    "Mailbox",
    "Message",
    "Poll",
    "Reply",
    "Rounds",
    "ServerMemory",
    "ServerWork",
    "State",
    "Stream",
    "Traffic",
    "Turns",
    "Vector",
    "Want",
    "Weights",
    "Work",
    "frozen",
]
