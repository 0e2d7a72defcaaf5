"""Five hundred partitions of all kinds: disjoint, complete, above their floors, a function of the
seed, and done in time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.scenarios.load import load
from fedbench.scenarios.partition import partition, validation_rows
from fedbench.scenarios.schema import Scenario

MOST_SECONDS = 5.0  # of a processor, for a partition of at most 3,000 examples; most take some milliseconds
KINDS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "iid": st.just({}),
    "two_class": st.just({}),
    "dirichlet": st.fixed_dictionaries(
        {
            "alpha": st.sampled_from([1e-3, 0.01, 0.1, 0.3, 1.0, 100.0]),
            "min_examples": st.integers(1, 12),
            "stop_at_mean": st.booleans(),
        }
    ),
    "shards": st.fixed_dictionaries({"classes_per_client": st.integers(1, 6), "balanced": st.booleans()}),
    "natural": st.fixed_dictionaries({"min_examples": st.integers(1, 12), "select": st.sampled_from(["largest", "drawn"])}),
    "overlapping": st.fixed_dictionaries({"examples_per_client": st.integers(1, 50)}),
}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Scenario, np.ndarray, np.ndarray, int]:
    kind = draw(st.sampled_from(sorted(KINDS)))
    classes, examples = draw(st.integers(2, 12)), draw(st.integers(20, 3000))
    uneven = draw(st.floats(0.0, 3.0))
    weights = np.arange(1, classes + 1) ** -uneven
    labels = np.random.default_rng(draw(st.integers(0, 99))).choice(classes, size=examples, p=weights / weights.sum())
    part = {"kind": kind, **draw(KINDS[kind])}
    overrides = [f"clients={draw(st.integers(1, 80))}", f"partition={part}"]
    public = draw(st.sampled_from([0, 0, 5, 15]))
    overrides.append(f"public={{size: {public}}}" if public else "public=null")
    seed = draw(st.integers(0, 2**31 - 1))
    written = [one.replace("'", '"').replace("True", "true").replace("False", "false") for one in overrides]
    owner = np.random.default_rng(seed).geometric(0.05, examples)
    return load("digits-demo", written), labels, owner, seed


def same(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(np.array_equal(one, other) for one, other in zip(a, b, strict=True))


def check(scenario: Scenario, labels: np.ndarray, owner: np.ndarray, seed: int) -> None:
    begin = time.process_time()
    try:
        shards = partition(scenario, labels, seed, owner)
    except UsageError:  # what cannot be split so is said, and nothing else goes wrong
        return
    assert time.process_time() - begin < MOST_SECONDS
    rows = np.concatenate(list(shards))
    part = scenario.partition
    private = len(labels) - (scenario.public.size or 0 if scenario.public is not None else 0)
    assert len(shards) == scenario.clients
    assert min(map(len, shards)) >= getattr(part, "min_examples", 1)
    assert rows.min() >= 0
    assert rows.max() < len(labels)
    if part.kind == "overlapping":
        assert all(len(set(one.tolist())) == len(one) == part.examples_per_client for one in shards)
        assert len(np.unique(rows)) <= private
    else:
        assert len(np.unique(rows)) == len(rows), "disjoint"
        leaves_some = part.kind == "natural" or (part.kind == "shards" and not part.balanced)
        assert len(rows) == private or (leaves_some and len(rows) < private), "complete"
    if part.kind == "natural":
        of_clients = [np.unique(owner[one]) for one in shards]
        assert all(len(one) == 1 for one in of_clients)
        assert (np.diff(np.concatenate(of_clients)) > 0).all(), "in the order of owners"
    if part.kind == "two_class":
        assert all(len(np.unique(labels[one])) == 2 for one in shards)
    if part.kind == "shards":
        assert all(len(np.unique(labels[one])) <= part.classes_per_client for one in shards)
    assert same(shards, partition(scenario, labels, seed, owner)), "a function of the seed"


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(cases())
def test_some_partitions(case: tuple[Scenario, np.ndarray, np.ndarray, int]) -> None:
    check(*case)


@pytest.mark.slow
@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(cases())
def test_five_hundred_partitions(case: tuple[Scenario, np.ndarray, np.ndarray, int]) -> None:
    check(*case)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**31 - 1), st.floats(0.05, 0.9))
def test_what_is_held_out_for_validation_is_of_every_class_alike(seed: int, share: float) -> None:
    labels = np.repeat(np.arange(5), [40, 40, 80, 200, 17])
    held = validation_rows(share, labels, seed, "mine")
    assert (np.diff(held) > 0).all()
    assert np.bincount(labels[held], minlength=5).tolist() == [round(share * count) for count in (40, 40, 80, 200, 17)]
    assert np.array_equal(held, validation_rows(share, labels, seed, "other"))
