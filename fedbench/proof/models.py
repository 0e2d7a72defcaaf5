"""Checks the contract of models, for `fedbench test`: a module is a function of its flat vector,
its buffers and a batch, and its gradients are right.

A model that passes has the same records for every number of workers and for waves of one job, and
its runs can be repeated and resumed. The examples are drawn, in the shape of a task's.
"""

from __future__ import annotations

import contextlib
import math
import pickle
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from fedbench.engine.checkpoint import restore, save
from fedbench.engine.evaluate import GridEvaluator
from fedbench.engine.execute import Execution
from fedbench.engine.trainers.base import Assignment
from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.kernels.timing import NANOSECONDS
from fedbench.proof.findings import Finding, expect, findings_in
from fedbench.proof.model_world import BATCH, SEED, UPDATES, ModelWorld, ends
from fedbench.scenarios.grid import EvenGrid
from fedbench.tasks.own_module import OwnModule
from fedbench.tasks.torch_model import Masked, changing_buffers, flatten_buffers, flatten_parameters, trained
from fedbench.types import Job, LocalRule

MIDDLE = UPDATES // 2
SMALL = 1e-6  # by how much a parameter moves in a finite difference
TOLERANCE = 1e-3
OF_EVERY_MODULE = {*vars(nn.Module()), "masks"}


# ---- the checks; each raises Broken, or returns in words what it saw ----


def declared(world: ModelWorld) -> str:
    model = world.model
    buffers = f", {sum(one.size for one in model.buffers)} in buffers" if model.buffers else ""
    return f"{model.dim:,} parameters{buffers}; trainer {world.choice.name}: {world.choice.reason}"


def starts(world: ModelWorld) -> str:
    """The initial vector is finite and depends on the seed alone."""
    one, again, other = (world.model.x0(seed) for seed in (0, 0, 1))
    expect(bool(np.isfinite(one).all()), "the initial vector is not finite")
    expect(one.tobytes() == again.tobytes(), "seed 0 gives another initial vector when it is made again")
    return "x0 by seed" if one.tobytes() != other.tobytes() else "the same x0 for every seed"


def no_other_state(world: ModelWorld) -> str:
    """What a module has done before leaves nothing in it but the flat vectors."""
    module = world.source.module(torch.float64)
    replay = Replay(module, world)
    first = replay(0)
    before = dict(attributes(module))
    for begin in (BATCH, 2 * BATCH):
        replay(begin)
    again, after = replay(0), dict(attributes(module))
    changed = [name for name in after if before.get(name) != after[name]]
    expect(
        not changed,
        f"forward changes {', '.join(changed[:3])}, which is neither a parameter nor a buffer; register a buffer of floats",
    )
    expect(
        first == again,
        "a batch gives other logits after other batches; forward must depend on parameters, buffers and batch alone",
    )
    rule = LocalRule(start=world.model.x0(SEED), lr=0.05)
    job, other = (Job(client, 0, 0, 4) for client in (0, 1))
    with contextlib.closing(TorchTrainer(world.workload)) as fresh, contextlib.closing(TorchTrainer(world.workload)) as used:
        buffers = fresh.initial_buffers()
        used.train([Assignment(other, rule, buffers)])
        one, two = (trainer.train([Assignment(job, rule, buffers)])[0] for trainer in (fresh, used))
    expect(
        one.end.tobytes() == two.end.tobytes(),
        "a job gives another result after another job; something is kept outside of the module",
    )
    return "attributes, and a job after another one"


class Replay:
    """Calls a module in training with the initial vectors and the same masks, on the batch that
    begins at a row, and returns the bits of the logits and of a gradient."""

    def __init__(self, module: OwnModule, world: ModelWorld) -> None:
        self.module, self.world = module, world
        x, buffers = world.source.values(SEED)
        self.x, self.m = (torch.from_numpy(one.astype(np.float64)) for one in (x, buffers))
        self.flat, self.buffers = self.x.clone(), self.m.clone()
        flatten_parameters(module, self.flat)
        flatten_buffers(module, self.buffers)

    def loss(self, begin: int, *, training: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the mean cross-entropy at the present vector, and the logits."""
        features, labels = self.world.batch(begin)
        self.buffers.copy_(self.m)
        self.module.set_masks(RandomStream(SEED, Purpose.dropout))
        self.module.train(training)
        logits = self.module(features)
        return F.cross_entropy(logits, labels), logits

    def gradients(self, begin: int, *, training: bool = True) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(self.loss(begin, training=training)[0], list(trained(self.module)))

    def __call__(self, begin: int) -> bytes:
        loss, logits = self.loss(begin)
        gradients = torch.autograd.grad(loss, list(trained(self.module)))
        return b"".join(one.detach().contiguous().numpy().tobytes() for one in (logits, *gradients, self.buffers))


def attributes(module: nn.Module) -> Iterator[tuple[str, object]]:
    """Yields what the modules have beside parameters, buffers and what every module has: names, and
    something that is equal for equal values."""
    changing = {id(buffer) for _, _, buffer in changing_buffers(module)}
    for path, part in module.named_modules():
        if isinstance(part, Masked):
            continue
        for name, value in vars(part).items():
            if name not in OF_EVERY_MODULE:
                yield f"{path}.{name}".removeprefix("net."), _token(value)
        for name, buffer in part.named_buffers(recurse=False):
            if id(buffer) not in changing:
                yield f"{path}.{name}".removeprefix("net."), _token(buffer)


def _token(value: object) -> object:
    if isinstance(value, nn.Parameter):
        return "a parameter"
    if isinstance(value, torch.Tensor):
        kept = value.detach().cpu().contiguous()
        return str(kept.dtype), tuple(kept.shape), kept.reshape(-1).view(torch.uint8).numpy().tobytes()
    if isinstance(value, dict):
        return [(_token(key), _token(one)) for key, one in value.items()]
    if isinstance(value, list | tuple):
        return [_token(one) for one in value]
    try:
        return pickle.dumps(value)
    except Exception:  # a function of a function, a handle: nothing that could be compared
        return type(value).__qualname__


def gradients_right(world: ModelWorld) -> str:
    """The gradients are those of finite differences, tensor by tensor, in float64."""
    replay, worst = Replay(world.source.module(torch.float64), world), 0.0
    for training in (False, True):
        replay.flat.copy_(replay.x)
        found = [one.detach().clone() for one in replay.gradients(0, training=training)]
        for t, (part, gradient) in enumerate(zip(world.model.parameters, found, strict=True)):
            worst = max(worst, _error(replay, part.offset, gradient, t, part.name, training=training))
    return f"{len(world.model.parameters)} tensors, in training and evaluation: errors up to {worst:.1e} of a gradient's size"


def _error(replay: Replay, offset: int, gradient: torch.Tensor, t: int, name: str, *, training: bool) -> float:
    """Returns the error of a gradient along a random direction, as a share of what is typical."""
    direction = torch.from_numpy(RandomStream(SEED, Purpose.evaluation, 1, t).normal(gradient.numel()))
    direction /= direction.norm()
    losses = []
    for sign in (1, -1):
        replay.flat.copy_(replay.x)
        replay.flat[offset : offset + gradient.numel()] += sign * SMALL * direction
        with torch.no_grad():
            losses.append(float(replay.loss(0, training=training)[0]))
    replay.flat.copy_(replay.x)
    difference, along = (losses[0] - losses[1]) / (2 * SMALL), float(gradient.reshape(-1) @ direction)
    typical = float(gradient.norm()) / math.sqrt(gradient.numel())
    expect(
        abs(difference - along) <= TOLERANCE * typical + 1e-7,
        f"{name}: the gradient along a direction is {along:.6g}, finite differences give {difference:.6g} "
        f"({'training' if training else 'evaluation'})",
    )
    return abs(difference - along) / typical if typical > 1e-6 else 0.0


def waves_invisible(world: ModelWorld) -> str:
    whole = world.run()
    for workers, size in ((1, 1), (2, None), (4, 3)):
        words = f"{workers} workers and waves of {size or 'all'} jobs"
        expect(world.run(workers, size) == whole, f"with {words} the run differs from that of one worker")
    return f"{UPDATES} updates with 1, 2 and 4 workers, and in waves of 1 and 3"


def repeats(world: ModelWorld) -> str:
    expect(world.run() == world.run(), "a second run differs from the first")
    return "two runs, same bits"


def resumes(world: ModelWorld) -> str:
    whole = world.run()
    with tempfile.TemporaryDirectory() as folder, world.trainer() as trainer, world.trainer() as other:
        file, evaluator = Path(folder) / "checkpoint.bin", GridEvaluator(lambda models: [], EvenGrid(NANOSECONDS))
        execution = world.execution(trainer)
        execution.run(world.plan(execution), [Saving(lambda: save(file, "contract", execution, evaluator))])
        again = world.execution(other)
        restore(file, "contract", again, evaluator)
        again.run(world.plan(again), [])
        expect(ends(again) == whole, f"restored after update {MIDDLE} the run differs")
    return f"saved and restored after update {MIDDLE}"


class Saving:
    """An observer that saves a run in the middle."""

    def __init__(self, save: Callable[[], None]) -> None:
        self._save = save

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None:
        pass

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None:
        if version == MIDDLE:
            self._save()


CHECKS: dict[str, Callable[[ModelWorld], str]] = {
    "declared": declared,
    "start": starts,
    "no other state": no_other_state,
    "gradients": gradients_right,
    "repeatable": repeats,
    "waves invisible": waves_invisible,
    "resumable": resumes,
}


def check(selector: str, task: str) -> Iterator[Finding]:
    """Yields one finding for every check of a model `file.py:Class`, tried on examples like those
    of a task. UsageError if it is none at all."""
    return findings_in(CHECKS, lambda: ModelWorld(selector, task))
