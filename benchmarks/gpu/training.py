"""Local steps of 100 clients with the CNN of 21,840 parameters and batches of 32: the stacked
trainer, beside a loop of one client at a time on the same card, the same loop compiled, and JAX.

The unit is a client-step: one step of one client.
"""

from __future__ import annotations

import importlib.util
import time

import numpy as np
import torch
from torch.nn import functional

from benchmarks.gpu.card import DEVICE, device_seconds, micro, random, wait
from benchmarks.gpu.rows import DRY, row
from fedbench.engine.trainers.base import Assignment, Workload
from fedbench.engine.trainers.torch.stacked import StackedTrainer
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.model_library import make_model
from fedbench.tasks.task import Task
from fedbench.tasks.torch_model import build
from fedbench.types import Job, LocalRule

CLIENTS, BATCH, SHARD = (2, 4, 8) if DRY else (100, 32, 64)
FEW, MANY = (1, 2) if DRY else (4, 24)  # steps of a job: what starts and ends it is not counted
IMAGE, CLASSES, RATE = (1, 28, 28), 10, 0.01
OPERATIONS = (
    3 * (288_000 + 640_000 + 33_000) - 288_000
)  # multiply-adds, twice, of an example forward and back; none for the images
PART = "training"


def task() -> Task:
    x = np.random.default_rng(1).standard_normal((CLIENTS * SHARD, *IMAGE)).astype(np.float32)
    examples = Examples(x, np.arange(len(x)) % CLASSES)
    return Task("noise", make_model("cnn_21840", IMAGE, CLASSES), Dataset("noise", examples, examples, CLASSES))


def stacked() -> float:
    """Returns the seconds of a client-step of the stacked trainer, with all clients in lanes."""
    given = task()
    shards = [np.arange(SHARD * client, SHARD * (client + 1)) for client in range(CLIENTS)]
    trainer = StackedTrainer(Workload(given, shards, batch_size=BATCH, seed=1), device=DEVICE, lanes=CLIENTS)
    model = given.model

    def seconds(steps: int) -> float:
        wave = [
            Assignment(
                Job(client, client, 0, steps), LocalRule(start=model.x0(0, np.float32), lr=RATE), model.buffers0(np.float32)
            )
            for client in range(CLIENTS)
        ]
        wait()
        begin = time.perf_counter()
        trainer.train(wave)
        wait()
        return time.perf_counter() - begin

    seconds(FEW)
    found = min(seconds(MANY) - seconds(FEW) for _ in range(1 if DRY else 3)) / (MANY - FEW) / CLIENTS
    trainer.close()
    return found


def loop(*, compiled: bool) -> float:
    """Returns the seconds of a client-step of one client after another, as papers' code has it."""
    module = build(make_model("cnn_21840", IMAGE, CLASSES)).to(DEVICE).train()  # without masks, so dropout costs it nothing
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.1 * torch.randn_like(parameter))
    x, y = random(BATCH, *IMAGE), torch.randint(0, CLASSES, (BATCH,), device=DEVICE)
    optimiser = torch.optim.SGD(module.parameters(), RATE, **({} if DRY else {"fused": True}))
    loss = (
        torch.compile(lambda: functional.cross_entropy(module(x), y))
        if compiled
        else lambda: functional.cross_entropy(module(x), y)
    )

    def step() -> None:
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()

    return device_seconds(step, 30)


def in_jax() -> float:
    """Returns the seconds of a client-step of jit(vmap(scan)), compiling left out."""
    import jax
    from jax import numpy as jnp

    from fedbench.bench.in_jax import loss, unflattened
    from fedbench.bench.train import CNN_21840

    slopes_of = jax.grad(lambda p, x, y, key: loss(CNN_21840, p, x, y, key)[0])

    def step(parameters: list[jax.Array], batch: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[list[jax.Array], None]:
        slopes = slopes_of(parameters, *batch)
        return [p - RATE * g for p, g in zip(parameters, slopes, strict=True)], None

    @jax.jit
    @jax.vmap
    def job(parameters: list[jax.Array], x: jax.Array, y: jax.Array, keys: jax.Array) -> list[jax.Array]:
        return jax.lax.scan(step, parameters, (x, y, keys))[0]

    one = unflattened(make_model("cnn_21840", IMAGE, CLASSES).x0(0, np.float32), CNN_21840)
    start = [jnp.broadcast_to(jnp.asarray(part), (CLIENTS, *part.shape)) for part in one]
    x = jax.random.normal(jax.random.key(0), (CLIENTS, MANY, BATCH, *IMAGE))
    y = jnp.zeros((CLIENTS, MANY, BATCH), jnp.int32)
    keys = jax.random.split(jax.random.key(1), (CLIENTS, MANY))
    jax.block_until_ready(job(start, x, y, keys))
    begin = time.perf_counter()
    jax.block_until_ready(job(start, x, y, keys))
    return (time.perf_counter() - begin) / MANY / CLIENTS


def main() -> None:
    torch.manual_seed(1)
    alone = loop(compiled=False)
    row(PART, "loop of one client at a time, eager", f"{micro(alone)} a client-step")
    ours = stacked()
    rate = f"{OPERATIONS * BATCH / ours / 1e12:.2f} TFLOP/s"
    row(
        PART,
        f"stacked trainer, {CLIENTS} clients",
        f"{micro(ours)} a client-step",
        rate,
        f"the loop takes {alone / ours:.1f} times as long",
    )
    if importlib.util.find_spec("jax") is None:
        row(PART, "JAX, vmap and scan", "jax is not installed")
    else:
        theirs = in_jax()
        row(PART, "JAX, vmap and scan", f"{micro(theirs)} a client-step", "", f"{theirs / ours:.1f} times the stacked trainer's")
    if not DRY:
        row(PART, "loop of one client at a time, compiled", f"{micro(loop(compiled=True))} a client-step")


if __name__ == "__main__":
    main()
