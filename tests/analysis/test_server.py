"""What the server computed, from new records, from old ones and from those of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.analysis.axes import SECONDS
from fedbench.analysis.rows import SERVER, row
from fedbench.analysis.server import all_gradient_evaluations, public_logits_vectors, server_examples, server_passes, server_work
from fedbench.engine.run import Run
from fedbench.engine.spec import RunSpec
from fedbench.errors import RecordError
from fedbench.results.record import CURVES, Record
from fedbench.results.sections import SERVER_LEDGER
from fedbench.scenarios.load import load
from fedbench.types import ServerWork
from tests.conftest import altered

SMALL = ["clients=8", "budget.seconds=6", "local.steps=3", "task.model=softmax", "public.size=130"]


def run(selector: str) -> Record:
    return Run(RunSpec(load("digits-demo", SMALL), registry.algorithm(selector), 0)).record()


def from_before(record: Record) -> Record:
    """A record from before the server's work was counted."""
    ledger = record.ledger.model_copy(update=dict.fromkeys(SERVER_LEDGER))
    digests = record.digests.model_copy(update={"server": None})
    curves = {name: record.curves[name] for name in CURVES}
    return record.model_copy(update={"ledger": ledger, "digests": digests, "curves": curves})


@pytest.fixture(scope="module")
def fedecho() -> Record:
    return run("fedecho[buffer_size=2,concurrency=5]")


def test_an_older_record_says_the_same(fedecho: Record) -> None:
    old = from_before(fedecho)
    assert server_work(old) == server_work(fedecho) == ServerWork(forward=2 * 130, gradients=130)
    assert server_passes(old).tolist() == server_passes(fedecho).tolist() == (650 * fedecho.curves["version"]).tolist()
    updates = fedecho.ledger.updates
    assert server_examples(old) == server_examples(fedecho)
    assert server_examples(old) == {"server_forward_examples": 260 * updates, "server_gradient_examples": 130 * updates}


def test_clients_and_server_together_in_batches_of_ten(fedecho: Record) -> None:
    at_server = fedecho.curves["version"] * (130 + 260 / 3) / 10
    assert all_gradient_evaluations(fedecho) == pytest.approx(fedecho.curves["gradient_evaluations"] + at_server)


def test_logits_in_vectors_of_650_parameters(fedecho: Record) -> None:
    assert public_logits_vectors(fedecho) == pytest.approx(8 * 130 * 10 / 650)
    reported = fedecho.ledger.public_logits_bytes / (4 * 130 * 10)
    assert public_logits_vectors(from_before(fedecho)) == pytest.approx(reported * 130 * 10 / 650)


def test_a_row_has_measures_of_its_server(fedecho: Record) -> None:
    measures = row("fedecho", (fedecho,), SECONDS).measures
    assert {name: measures[name].mean for name in SERVER[:2]} == server_examples(fedecho)
    assert measures[SERVER[2]].mean == 16
    assert row("fedecho", (from_before(fedecho),), SECONDS).measures[SERVER[0]] == measures[SERVER[0]]


def test_without_public_data_a_server_computes_nothing() -> None:
    record = run("fedbuff[buffer_size=2,concurrency=5]")
    assert not set(SERVER) & set(row("fedbuff", (record,), SECONDS).measures)
    assert server_work(record) == ServerWork()
    assert server_examples(record) == {}
    assert not server_passes(record).any()
    assert np.array_equal(all_gradient_evaluations(record), record.curves["gradient_evaluations"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spec.algorithm.origin": {"kind": "object", "class": "Mine"}}, "its algorithm is not built in"),
        ({"spec.algorithm.name": "nobodys"}, "its algorithm is not built in"),
        ({"spec.scenario.public": {"source": "fashion_mnist", "size": None}}, "its scenario has no public.size"),
        ({"spec.algorithm.options": {"buffer_size": 0}}, "buffer_size must be an integer >= 1, got 0"),
    ],
)
def test_what_cannot_be_known_is_refused(change: dict[str, Any], words: str, fedecho: Record) -> None:
    changed = altered(from_before(fedecho), change)
    with pytest.raises(RecordError, match=f"the server's work is not known: .*{words}"):
        server_passes(changed)
