"""The cases by name."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from fedbench.bench import CASES, GROUPS, Case, Ready, find, select
from fedbench.bench.case import WrongResult
from fedbench.bench.torch_ways import RESNET18, cuts
from fedbench.errors import UsageError

VERSUS = {
    "queue-hold-100": ["heapq", "simpy"],
    "queue-hold-1000": ["heapq", "simpy"],
    "queue-hold-100000": ["heapq", "simpy"],
    "queue-hold-1000000": ["heapq", "simpy"],
    "plan-stream-1m": [],
    "plan-limit-10m": ["no-limit"],
    "plan-stop-10m": ["no-limit"],
    "plan-routed-10m": ["no-queues"],
    "sum10-11m": ["state-dict", "flat-add", "read-cpp", "read-numpy", "read-torch"],
    "amsgrad-11m": ["torch-eager", "torch-foreach", "torch-fused"],
    "clip-adam-11m": ["torch-eager", "torch-foreach", "torch-fused"],
    "sum10-amsgrad-11m": ["torch-eager"],
    "sum10-yogi-11m": ["torch-eager"],
    "sum10-adagrad-11m": ["torch-eager"],
    "ca2fl-11m": ["torch-eager"],
    "fedac-11m": ["torch-eager"],
    "distill-64x10": ["torch-autograd"],
    "distill-128x100": ["torch-autograd"],
    "distill-2000x10": ["torch-autograd"],
    "distill-64x30000": ["torch-autograd"],
    "run-fedbuff-fashion": ["trainer-torch"],
    "run-fedavg-cnn-21840": ["torch-loop-2p"],
    "run-fedavg-cnn-21840-tenth": ["torch-loop-2p", "jax-map", "jax-vmap"],
    "run-fedavg-softmax-100-rounds": ["torch-loop-2p", "torch-stacked", "jax-map", "jax-vmap", "pfl", "flgo"],
    "run-fedavg-cnn-582026": ["torch-loop-2p"],
    "run-fedbuff-cnn-21840": ["torch-loop-2p"],
    "run-fedavg-1000-clients-50-rounds": ["torch-loop-2p", "torch-stacked", "jax-map", "jax-vmap", "pfl", "flgo"],
    "train-softmax-123x2-b20": ["torch-eager-1t", "torch-best", "sgemm"],
    "train-softmax-123x2-b20-2w": ["torch-eager-1t"],
    "train-softmax-784x10-b25": ["torch-eager-1t", "torch-best", "sgemm"],
    "train-softmax-784x10-b25-2w": ["torch-eager-1t"],
    "train-mlp-784x200x10-b10": ["torch-eager-1t", "torch-best", "sgemm"],
    "train-mlp-784x200x10-b10-2w": ["torch-eager-1t"],
    "train-cnn-21840-b25": ["torch-eager-1t", "torch-best", "sgemm"],
    "train-cnn-21840-b25-2w": ["torch-eager-1t"],
    "train-cnn-582026-b10": ["torch-eager-1t", "torch-best", "sgemm"],
    "train-cnn-582026-b10-2w": ["torch-eager-1t"],
}


def test_names_and_rivals_that_others_rely_on() -> None:
    assert {name: [way.name for way in CASES[name].versus] for name in VERSUS} == VERSUS
    assert GROUPS == ("queue-hold", "plan", "server", "distill", "train", "run")


def test_select() -> None:
    assert [case.name for case in select(["distill-64x10", "sum10-11m", "distill-64x10"])] == ["distill-64x10", "sum10-11m"]
    assert [case.name for case in select(["sum10-11m"], "plan")] == ["sum10-11m", "plan-stream-1m"]
    assert [case.name for case in select(group="plan", heavy=True)] == [
        "plan-stream-1m", *(plans := ["plan-stream-10m", "plan-limit-10m", "plan-stop-10m", "plan-routed-10m"]),
    ]  # fmt: skip
    heavy = {case.name for case in select(heavy=True)} - {case.name for case in select()}
    assert heavy == {*plans, "run-fedbuff-fashion", *(case.name for case in select(group="run", heavy=True))}
    assert find("plan-stream-10m").heavy


def test_an_unknown_name_is_met_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match="unknown case 'sum10-12m'; did you mean 'sum10-11m'"):
        select(["sum10-12m"])
    assert select(["train"]) == select(group="train")
    with pytest.raises(UsageError, match="unknown case 'trains'; did you mean 'train'"):
        select(["trains"])
    with pytest.raises(UsageError, match="unknown group 'sever'; did you mean 'server'"):
        select(group="sever")


FAST = [
    pytest.param(case, id=name, marks=[pytest.mark.slow] if case.group == "run" else [])  # whose reference starts processes
    for name, case in CASES.items()
]


@pytest.mark.parametrize("case", FAST)
def test_every_check_notices_every_wrong_value(case: Case) -> None:
    """Each outcome of ours in turn is off by a twentieth of its largest value, in one place."""
    given = case.inputs(case.small)
    ready, want = case.ours.start(given), case.reference(given)
    right = dict(ready.outcome())
    for name, value in right.items():
        array = np.array(value)
        array.flat[array.size // 2] += 1 if array.dtype.kind in "iu" else 0.05 * np.abs(array).max()
        wrong: dict[str, Any] = right | {name: array}
        with pytest.raises(WrongResult, match=f"{case.name}: fedbench has another {name}"):
            case.check(case.ours, Ready(lambda wrong=wrong: wrong, lambda result: result), want)


def test_state_dicts_have_the_resnet_s_tensors() -> None:
    assert (len(RESNET18), sum(RESNET18)) == (62, 11_173_962)
    for d in (100, 10_007, 11_173_962):
        pieces = cuts(d)
        assert (len(pieces), pieces[0][0], pieces[-1][1]) == (62, 0, d)
        assert all(a[1] == b[0] for a, b in itertools.pairwise(pieces))
    assert [b - a for a, b in cuts(11_173_962)] == RESNET18
