"""Chooses the trainer that computes a run, and says why."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from fedbench import extras
from fedbench.engine.trainers import meeting
from fedbench.engine.trainers.base import ScoringBackend, Workload
from fedbench.engine.trainers.counted import comparison
from fedbench.errors import UsageError, closest
from fedbench.protocols import Algorithm
from fedbench.scenarios.data_parts import TaskPart
from fedbench.scenarios.local_parts import LocalPart
from fedbench.scenarios.schema import Scenario
from fedbench.tasks.available import Outline
from fedbench.tasks.encoder import EncoderModel
from fedbench.tasks.models import Model
from fedbench.tasks.own_model import OwnModel
from fedbench.tasks.sequences import LSTM
from fedbench.types import Dispatch

TRAINERS = ("auto", "native", "torch")
CPU = "cpu"
LARGEST_NATIVE = 2_000_000
"""The parameters of the largest model that is trained natively unless asked otherwise; torch is
fast on larger ones."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A trainer's name, the reason in words for plan and record, and the device on which it
    computes: cpu, cuda or cuda:N."""

    name: str
    reason: str
    device: str = CPU


def check_wish(wish: str, device: str) -> None:
    """Raises UsageError unless the names of trainer and device are known and the two go
    together."""
    if wish not in TRAINERS:
        raise UsageError(f"trainer: unknown name {wish!r}{closest(wish, TRAINERS)}; known are {', '.join(TRAINERS)}")
    if device != CPU and not re.fullmatch(r"cuda(:\d+)?", device):
        near = closest(device.replace("gpu", "cuda"), (CPU, "cuda"))
        raise UsageError(f"device: unknown name {device!r}{near}; known are cpu, cuda, and cuda:N for one of several")
    if wish == "native" and device != CPU:
        raise UsageError(f"trainer native: it computes on the CPU, not on device {device}; leave out one of the two")


def require_device(device: str) -> None:
    """Raises UsageError, with what torch reports, if this machine does not have the device."""
    if device != CPU:
        extras.require("torch", f"device {device}", "torch")
        from fedbench.engine.trainers.torch.device import require

        require(device)


def choose(
    task: Outline,
    algorithm: Algorithm,
    wish: str = "auto",
    device: str = CPU,
    *,
    local: LocalPart | None = None,
    part: TaskPart | None = None,
) -> Choice:
    """Returns the trainer for a task and an algorithm.

    Args:
        task: the task's model.
        algorithm: the algorithm, whose local rule may need a certain trainer.
        wish: auto, or the trainer that is asked for.
        local: the scenario's local work, which may need a certain trainer.
        part: the scenario's task, likewise.
        device: where to compute. Whether this machine has it is not asked: see require_device.

    Raises:
        UsageError: if the trainer that is asked for cannot compute the run on the device.
    """
    check_wish(wish, device)
    if device != CPU:
        _check_side_by_side(task.model, device)
        for key, code in (("local.optimizer", local and local.optimizer), ("task.loss", part and part.loss)):
            if code is not None:
                raise UsageError(
                    f"device {device}: jobs train side by side there, and {key} {code} takes one at a time; leave out --device"
                )
        return Choice("torch", f"asked for device {device}", device)
    if wish == "torch":
        return Choice("torch", "asked for")
    against = _against_native(task, algorithm, _torch_only(part, local))
    if wish == "native":
        if against:
            raise UsageError(f"trainer native: {against}; use --trainer torch")
        return Choice("native", "asked for")
    if against:
        return Choice("torch", against)
    model = task.model
    if model.dim > LARGEST_NATIVE:
        return Choice("torch", f"model {model.name} has {model.dim:,} parameters, more than {LARGEST_NATIVE:,}")
    return Choice("native", f"it has all layers of model {model.name} and all terms of {algorithm.name}'s local rule")


def _torch_only(part: TaskPart | None, local: LocalPart | None) -> list[str]:
    return [*(part.torch_only if part else ()), *(local.torch_only if local else ())]


def _check_side_by_side(model: Model | EncoderModel | OwnModel, device: str) -> None:
    """Raises UsageError unless jobs can train side by side, as they do on a device."""
    if isinstance(model, EncoderModel):
        raise UsageError(f"device {device}: model {model.name} is a pretrained encoder, which trains on the cpu only")
    if isinstance(model, OwnModel):
        raise UsageError(f"device {device}: model {model.name} trains on the cpu only: {model.why}")
    recurrent = [layer for layer in model.layers if isinstance(layer, LSTM)]
    if recurrent:
        raise UsageError(
            f"device {device}: jobs train side by side there, and torch cannot do so with {recurrent[0]} of model {model.name}; leave out "
            "--device, or choose a model without it"
        )


def _against_native(task: Outline, algorithm: Algorithm, torch_only: Sequence[str]) -> str:
    """Returns what the native trainer cannot compute of the run, in words; empty if it can compute
    all."""
    from fedbench.engine.trainers.native import layer_specs

    if algorithm.rule_terms:
        return f"{algorithm.name}'s local rule uses {', '.join(sorted(algorithm.rule_terms))}, which the native trainer does not take"
    if torch_only:
        return f"the scenario has {' and '.join(torch_only)}, which the native trainer does not take"
    try:
        layer_specs(task.model)
    except UsageError as error:
        return f"model {task.model.name}: {error}"
    return ""


def together(dispatch: Dispatch, clients: int) -> int:
    """Returns about how many jobs can be trained at a time: those of an update."""
    if getattr(dispatch, "select", "") == "all":
        return dispatch.at_a_time(clients)
    of_update = math.ceil(getattr(dispatch, "buffer_size", 0)) or getattr(dispatch, "cohort_size", 0) or clients
    return min(of_update, dispatch.at_a_time(clients))


def cost_on(choice: Choice, task: Outline, algorithm: Algorithm, scenario: Scenario, jobs: int) -> str:
    """Returns in words what a job's step takes on the choice's device, about so many `jobs` at a
    time, and where the native trainer is faster; '' for the CPU."""
    if choice.device == CPU or not isinstance(task.model, Model):
        return ""
    local = scenario.local
    against = _against_native(task, algorithm, _torch_only(scenario.task, local))
    return comparison(task.model, local.batch_size, jobs, native=not against)


def make_trainer(choice: Choice, workload: Workload, *, workers: int, isa: str = "") -> ScoringBackend:
    """Returns the chosen trainer. Torch ignores `isa`, and a device ignores `workers`. On a device
    it meets the others of this thread's meeting, if there is one. UsageError if this machine does
    not have it."""
    if choice.name == "torch":
        extras.require("torch", f"trainer torch ({choice.reason})", "torch")
    if choice.name == "native":
        from fedbench.engine.trainers.native import NativeTrainer

        return NativeTrainer(workload, workers=workers, isa=isa)
    if choice.device != CPU:
        from fedbench.engine.trainers.torch.stacked import StackedTrainer

        return StackedTrainer(workload, device=choice.device, meeting=meeting.here())
    # Imported here, since a plan, the command line and native runs need no torch.
    from fedbench.engine.trainers.torch.one_by_one import TorchTrainer

    return TorchTrainer(workload, workers=workers)
