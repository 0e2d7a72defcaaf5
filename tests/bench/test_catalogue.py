"""The cases by name."""

from __future__ import annotations

import pytest

from fedbench.bench import CASES, GROUPS, find, select
from fedbench.bench.catalogue import alone
from fedbench.errors import UsageError

VERSUS = {
    "queue-hold-100": ["heapq", "simpy"],
    "queue-hold-1000": ["heapq", "simpy"],
    "queue-hold-100000": ["heapq", "simpy"],
    "queue-hold-1000000": ["heapq", "simpy"],
    "plan-stream-1m": [],
    "sum10-11m": ["state-dict", "flat-add", "read-cpp", "read-numpy", "read-torch"],
    "amsgrad-11m": ["torch-eager", "torch-foreach", "torch-fused"],
    "clip-adam-11m": ["torch-eager", "torch-foreach", "torch-fused"],
    "sum10-amsgrad-11m": ["torch-eager"],
    "distill-64x10": ["torch-autograd"],
    "distill-128x100": ["torch-autograd"],
    "distill-2000x10": ["torch-autograd"],
    "distill-64x30000": ["torch-autograd"],
}


def test_names_and_rivals_that_others_rely_on() -> None:
    assert {name: [way.name for way in CASES[name].versus] for name in VERSUS} == VERSUS
    assert GROUPS == ("queue-hold", "queue-curve", "plan", "server", "distill")
    assert [case.size for case in select(group="queue-curve")] == [10**power for power in range(2, 7)]


def test_select() -> None:
    assert [case.name for case in select(["distill-64x10", "sum10-11m", "distill-64x10"])] == ["distill-64x10", "sum10-11m"]
    assert [case.name for case in select(["sum10-11m"], "plan")] == ["sum10-11m", "plan-stream-1m"]
    assert [case.name for case in select(group="plan", heavy=True)] == ["plan-stream-1m", "plan-stream-10m"]
    assert {case.name for case in select(heavy=True)} - {case.name for case in select()} == {"plan-stream-10m"}
    assert find("plan-stream-10m").heavy
    assert {case.name for case in select()} - {case.name for case in alone()} == {f"queue-curve-{10**p}" for p in range(2, 7)}


def test_an_unknown_name_is_met_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match="unknown case 'sum10-12m'; did you mean 'sum10-11m'"):
        select(["sum10-12m"])
    with pytest.raises(UsageError, match="unknown group 'sever'; did you mean 'server'"):
        select(group="sever")
