"""Tells what the server keeps from update to update: as the algorithm declares it, and as a run has
it in memory."""

from __future__ import annotations

from fedbench.engine import declared
from fedbench.engine.isolation.algorithm import Mirrored
from fedbench.kernels import TeacherMean
from fedbench.protocols import Algorithm
from fedbench.tables import ClientTable
from fedbench.types import Info, State
from fedbench.types.arrays import is_array


def server_vectors(algorithm: Algorithm, info: Info, versions: int) -> int:
    """Returns how many model-sized vectors the server keeps at most, as the algorithm declares
    them, with so many versions in flight at one time and without public logits."""
    own, per_client, per_version, _ = declared.server_memory(algorithm, info)
    return own + per_client * info.clients + per_version * versions


def server_bytes(algorithm: Algorithm, state: State, info: Info, versions: int) -> dict[str, int]:
    """Returns the bytes on the server at the end of a run, by name, if at most `versions` were in
    flight.

    server_state_bytes is the state without what clients remember and without public logits;
    public_logits_bytes are these logits; checkpoint_bytes_peak are the models of the versions in
    flight at the peak, if the algorithm needs them again.
    """
    held, logits = held_bytes(state)
    return {
        "server_state_bytes": held,
        "public_logits_bytes": logits,
        "checkpoint_bytes_peak": declared.server_memory(algorithm, info).per_version * versions * state.x.nbytes,
    }


def held_bytes(state: State) -> tuple[int, int]:
    """Returns the bytes of the state without what clients remember and without public logits, and
    those of the logits."""
    if isinstance(state, Mirrored):
        held, logits = state.process.call("held")
        return int(held), int(logits)
    server = [value for name, value in state.items() if name != "memory"]
    return sum(map(_state_bytes, server)), sum(value.bytes for value in server if isinstance(value, TeacherMean))


def _state_bytes(value: object) -> int:
    """Returns the bytes of an array, of a list of arrays, or of the written rows of a table; 0 for
    all else."""
    if is_array(value):
        return value.nbytes
    if isinstance(value, ClientTable):
        return value.count * value.default.nbytes
    return sum(map(_state_bytes, value)) if isinstance(value, list | tuple) else 0
