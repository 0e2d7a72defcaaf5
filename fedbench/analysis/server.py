"""What the server of a run computed itself, as its record has it or its algorithm declares it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench import registry
from fedbench.analysis.axes import AXES, along
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import SERVER_CURVE, Record
from fedbench.types import PASSES_OF_A_GRADIENT, Info, ServerWork

NOTHING = ServerWork()


def server_work(record: Record) -> ServerWork:
    """Returns what the server of a run computes. Without public data it computes nothing. With
    them, a built-in algorithm of these options declares it, so records from before the work was
    counted have an answer too.

    Raises RecordError if the algorithm is not built in, or the record does not say how many public
    examples there are.
    """
    spec = record.spec
    algorithm, clients = spec.algorithm, spec.scenario.clients
    if "public_data" not in algorithm.requires:
        return NOTHING
    place = f"record {record.run_id} ({record.scenario}, {record.selector}, seed {record.seed}): the server's work is not known"
    if algorithm.origin is not None or algorithm.name not in registry.ALGORITHMS:
        raise RecordError(f"{place}: its algorithm is not built in")
    public = spec.scenario.public
    if public is None or public.size is None:
        raise RecordError(f"{place}: its scenario has no public.size")
    info = Info(clients, lambda: np.ones(clients), public_shape=(public.size, 1))
    try:
        work: ServerWork = registry.find("algorithm", algorithm.name).make(algorithm.options).server_work(info)
    except UsageError as error:
        raise RecordError(f"{place}: {error}") from None
    return work


def server_passes(record: Record) -> npt.NDArray[np.int64]:
    """Returns the server's work at every evaluation of a run (T,), in forward passes of an example:
    the column of the curves or, in an older record, what its versions took. The work before the
    first job counts from the start then. Raises RecordError as `server_work` does."""
    column = record.curves.get(SERVER_CURVE)
    if column is not None:
        return np.asarray(column, np.int64)
    work = server_work(record)
    return work.first_passes + work.passes * np.asarray(record.curves["version"], np.int64)


def server_examples(record: Record) -> dict[str, int]:
    """Returns the forward passes and the gradients of examples that the server computed in the
    whole run, by the names that the ledger has for them. Empty if its algorithm has no work for it.
    Raises RecordError as `server_work` does."""
    ledger = record.ledger
    forward, gradients = ledger.server_forward_examples, ledger.server_gradient_examples
    if forward is None or gradients is None:
        work = server_work(record)
        if not any(work):
            return {}
        forward = work.first_forward + ledger.updates * work.forward
        gradients = work.first_gradients + ledger.updates * work.gradients
    return {"server_forward_examples": forward, "server_gradient_examples": gradients}


def public_logits_vectors(record: Record) -> float:
    """Returns what the public logits that the server keeps come to, in vectors of the model's size:
    what the ledger says or, in an older record, the logits kept at the end over the size of a model
    kept for its client, since who computes logits of clients' models keeps old models too."""
    ledger = record.ledger
    if ledger.public_logits_vectors is not None:
        return ledger.public_logits_vectors
    logits, models, peak = ledger.public_logits_bytes, ledger.checkpoint_bytes_peak, ledger.messages_peak
    return logits * peak / models if logits and models and peak else 0.0


def all_gradient_evaluations(record: Record) -> npt.NDArray[np.float64]:
    """Returns what clients and server computed by every evaluation of a run (T,), in mini-batch
    gradients of the clients' batch size; a forward pass of an example at the server is a third of
    its gradient. Raises RecordError as `server_work` does, or if the record has no gradients."""
    clients = along(record, AXES["gradient_evaluations"])
    if SERVER_CURVE not in record.curves and not any(server_work(record)):
        return clients
    batch_size = record.spec.scenario.local.batch_size
    at_server = server_passes(record) / (PASSES_OF_A_GRADIENT * batch_size)
    return np.asarray(clients + at_server, np.float64)
