"""Steps that are launched as a graph, on a device that is acted: what a capture saw is done again,
operation by operation, with the numbers of the host and the addresses that it saw.

`pytest -m gpu` compares the graphs of a GPU with its steps operation by operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fedbench.engine.trainers.base import Assignment, Workload
from fedbench.engine.trainers.torch import card as torch_card
from fedbench.engine.trainers.torch.card import KEPT_STEPS
from fedbench.engine.trainers.torch.graph import CudaGraphs, Graphs
from fedbench.engine.trainers.torch.stacked import StackedTrainer
from fedbench.scenarios.local_parts import LocalPart
from fedbench.types import Work

from .conftest import NETWORKS
from .test_stacked_trainer import FIELDS, PUBLIC, RULES, SHARDS, STEPS, TASKS, WANTS, wave_of


class Recorder(TorchDispatchMode):
    """Notes the operations of torch, and what they overwrite."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[Any, Any, Any, Any]] = []
        self.before: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("operation not permitted when stream is capturing")
        places = {a.name: i for i, a in enumerate(function._schema.arguments)}
        for argument in function._schema.arguments:
            if argument.alias_info is not None and argument.alias_info.is_write:
                at = places[argument.name]
                written = args[at] if at < len(args) else kwargs.get(argument.name)
                self.before.append((written, written.detach().clone()))
        found = function(*args, **kwargs)
        if not all(result.alias_info is not None and not result.alias_info.is_write for result in function._schema.returns):
            self.operations.append((function, args, kwargs, found))  # all but views
        return found


class Acted:
    """Graphs of a device without any."""

    def __init__(self) -> None:
        self.captures = self.replays = self.aparts = 0
        self.refusal = ""

    def aside(self, work: Callable[[], None]) -> None:
        self.aparts += 1
        work()

    def captured(self, work: Callable[[], None]) -> Callable[[], None]:
        self.captures += 1
        with Recorder() as seen:
            work()
        with torch.no_grad():
            for tensor, before in reversed(seen.before):  # on a device nothing has been executed
                tensor.copy_(before)

        def replay() -> None:
            self.replays += 1
            with torch.no_grad():
                for function, args, kwargs, found in seen.operations:
                    again = function(*args, **kwargs)
                    for old, new in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, again)), strict=True):
                        if old is not new:
                            old.copy_(new)

        return replay


@pytest.fixture
def trainer() -> Iterator[Callable[..., StackedTrainer]]:
    made: list[StackedTrainer] = []

    def make(model: str, graphs: Graphs | None, local: LocalPart | None = None, device: str = "cpu") -> StackedTrainer:
        task = TASKS[model]
        work = Workload(task, SHARDS, batch_size=7, seed=3, local=local, public=task.dataset.train.x[PUBLIC])
        made.append(StackedTrainer(work, device=device, lanes=5))
        made[-1].card.graphs = graphs
        return made[-1]

    yield make
    for one in made:
        one.close()


def bits(works: list[Work]) -> list[bytes]:
    return [b"".join(getattr(work, field).tobytes() for field in FIELDS) for work in works]


def waves_of(model: str, rule: str) -> list[list[Assignment]]:
    """Returns waves of rules of one form: another rate, fewer steps, other shards, other
    vectors."""
    others = {name: RULES[rule][name] + 5 for name in ("correction", "anchor") if name in RULES[rule]}
    changes = [({}, STEPS), ({"lr": 0.03}, STEPS[::-1]), ({}, [0, 3]), (others, STEPS)]
    return [wave_of(TASKS[model], np.float32, RULES[rule] | {"wants": WANTS} | changed, steps) for changed, steps in changes]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model", NETWORKS)
def test_a_graph_changes_no_bit(trainer: Any, model: str, rule: str) -> None:
    """Nor do jobs that came before, in the same memory."""
    acted = Acted()
    plain, graphed = trainer(model, None), trainer(model, acted)
    waves = waves_of(model, rule)
    for wave in waves:
        assert bits(graphed.train(wave)) == bits(plain.train(wave))
    fresh = trainer(model, None)
    assert bits(graphed.train(waves[-1])) == bits(fresh.train(waves[-1]))
    assert (acted.captures, acted.replays > 20) == (1, True)


@pytest.mark.gpu
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model", NETWORKS)
def test_a_graph_of_a_gpu_changes_no_bit(trainer: Any, model: str, rule: str) -> None:
    if not torch.cuda.is_available():
        pytest.skip("skipped: no GPU")
    graphs = CudaGraphs()
    plain, graphed = (trainer(model, of, device="cuda") for of in (None, graphs))
    for wave in waves_of(model, rule):
        assert bits(graphed.train(wave)) == bits(plain.train(wave))
    assert not graphs.refusal
    assert all(step.repeated.replay != step.repeated.work for step in graphed.card.steps.values())


@pytest.mark.parametrize("rule", ["momentum", "all"])
def test_rates_of_steps_are_no_part_of_a_graph(trainer: Any, rule: str) -> None:
    cosine = {"kind": "cosine", "until": 5, "by": "local_step"}
    acted, local = Acted(), LocalPart.model_validate({"steps": 6, "clip_norm": 0.3, "schedule": cosine})
    plain, graphed = trainer("mlp", None, local), trainer("mlp", acted, local)
    for _ in range(2):
        wave = wave_of(TASKS["mlp"], np.float32, RULES[rule] | {"wants": WANTS}, [6, 6, 4])
        assert bits(graphed.train(wave)) == bits(plain.train(wave))
    assert acted.replays == 6


@pytest.mark.parametrize("rule", RULES)
def test_jobs_without_a_step_come_first(trainer: Any, rule: str) -> None:
    """A capture comes after a step that was made, in whose memory it is."""
    acted = Acted()
    plain, graphed = trainer("mlp", None), trainer("mlp", acted)
    for steps in ([0, 0], [4, 3], [3, 0], [4]):
        wave = wave_of(TASKS["mlp"], np.float32, RULES[rule] | {"wants": WANTS}, steps)
        assert bits(graphed.train(wave)) == bits(plain.train(wave))
    assert (acted.aparts, acted.captures, acted.replays) == (4, 1, 7)


class Waits:
    """A loss that asks the device for a number."""

    def terms(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        terms = torch.nn.functional.cross_entropy(outputs, labels, reduction="none")
        return terms if terms.detach().sum().item() > 0 else -terms

    mean = each = terms


@pytest.mark.filterwarnings("ignore:no CUDA graph of a local step")
def test_a_refused_capture_takes_no_masks(trainer: Any) -> None:
    """Two forwards a step, with masks of their own; the capture ends between them."""
    plain, graphed = trainer("cnn", None), trainer("cnn", Acted())
    wave = wave_of(TASKS["cnn"], np.float32, RULES["anchor"], [3, 2])
    for one in (plain, graphed):
        one.card.lanes.loss = one.loss = Waits()
    for _ in range(3):
        assert bits_of_ends(graphed.train(wave)) == bits_of_ends(plain.train(wave))


def bits_of_ends(works: list[Work]) -> list[bytes]:
    return [work.end.tobytes() for work in works]


def test_what_cannot_be_captured_is_said_once(trainer: Any) -> None:
    """And goes as it went without graphs."""
    acted, wave = Acted(), wave_of(TASKS["mlp"], np.float32, {"wants": WANTS}, [3, 2])
    plain, graphed = trainer("mlp", None), trainer("mlp", acted)
    for one in (plain, graphed):
        one.card.lanes.loss = one.loss = Waits()
    want = bits(plain.train(wave))
    assert bits(graphed.train(wave)) == want
    with pytest.warns(
        UserWarning, match=r"^no CUDA graph of a local step, which goes operation by operation: RuntimeError: oper"
    ):
        assert bits(graphed.train(wave)) == want
    for decay in (0.0, 0.1, 0.1):
        graphed.train(wave_of(TASKS["mlp"], np.float32, {"weight_decay": decay, "wants": WANTS}, [3, 2]))
    assert (acted.captures, acted.replays) == (1, 0)


def test_the_memory_of_few_rules_is_kept(trainer: Any) -> None:
    acted = Acted()
    graphed = trainer("mlp", acted)
    for decay in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.6, 0.4, 0.1, 0.1):
        graphed.train(wave_of(TASKS["mlp"], np.float32, {"weight_decay": decay}, [2]))
        assert len(graphed.card.steps) <= KEPT_STEPS
    assert (acted.aparts, acted.captures) == (16, 2)


@pytest.mark.parametrize("model", ["cnn", "residual"])
def test_steps_may_be_drawn_in_parts(trainer: Any, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wave = wave_of(TASKS[model], np.float32, RULES["anchor"] | {"wants": WANTS}, STEPS)
    want = bits(trainer(model, None).train(wave))
    one = trainer(model, None)
    step = one.card.lanes.inputs(2).row.numel() * 4
    for drawn in (1, 100 * step):
        monkeypatch.setattr(torch_card, "DRAWN_BYTES", drawn)
        assert bits(one.train(wave)) == want
