"""The vocabulary: what flows between scheduler, engine and algorithms.

Shapes: N clients, d parameters, K consumed entries of one update. A *vector* is a one-dimensional
C-contiguous array of the run's dtype; float32 is the product, float64 is conformance and theory.
"""

from fedbench.types.arrays import Integers, Vector, Weights
from fedbench.types.bags import Bag, Message, Reply, State, frozen
from fedbench.types.costs import GradientWork, ServerMemory, Traffic
from fedbench.types.info import Info
from fedbench.types.jobs import Batch, Job, LocalRule, Want, Work
from fedbench.types.policies import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Turns

__all__ = [
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
