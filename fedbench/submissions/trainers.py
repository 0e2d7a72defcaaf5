"""Finds records that torch computed although the native trainer could. Torch's bits depend on the
machine, so nobody could tell such a record from one whose accuracies were raised a little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fedbench import registry
from fedbench.engine.data import Data
from fedbench.engine.trainers.choose import choose
from fedbench.errors import FedbenchError
from fedbench.protocols import Algorithm
from fedbench.results.archive import RUNS
from fedbench.results.record import Record
from fedbench.results.sections import Used
from fedbench.submissions.faults import Finding
from fedbench.submissions.rows import named


def trainer_faults(records: Iterable[Record]) -> Iterator[Finding]:
    """Yields the records that a trainer or a device computed which the rule does not allow."""
    for record in records:
        made, spec = record.provenance, record.spec
        if made.trainer == "native":
            continue
        scenario = spec.scenario
        try:
            outline, algorithm = Data(scenario, record.seed).outline, _algorithm(spec.algorithm)
            choice = choose(outline, algorithm, local=scenario.local, part=scenario.task)
        except FedbenchError as error:  # such as an option of an algorithm in a file, whose kind nobody has checked
            yield Finding(RUNS, f"{named(record)}: its trainer cannot be told: {error}")
            continue
        if choice.name != made.trainer:
            yield Finding(
                RUNS,
                f"{named(record)}: provenance.trainer: expected {choice.name}, which computes the same bits on every machine "
                f"({choice.reason}), got {made.trainer!r:.40}",
            )


def _algorithm(said: Used) -> Algorithm:
    """Returns an algorithm with the local rule of the record's. Of one that is not built in nothing
    is run, and its options are named as in LocalRule."""
    if said.origin is None:
        found: type[Algorithm] = registry.find("algorithm", said.name)
        return found.make(dict(said.options))
    terms = {key: value for key, value in said.options.items() if key in ("momentum", "optimizer")}
    kind = Proximal if said.options.get("prox_form", "l2") != "l2" else Algorithm
    return kind.make(terms)


class Proximal(Algorithm):
    """An algorithm with a proximal term that the native trainer does not have."""

    prox_form = "l1_squared"
