"""Federated averaging as a JAX program: a round is one jitted function, which trains the clients
one after the other (`lax.map`) or side by side (`vmap`), with a scan over their steps. Compiling is
not timed with the run, but told apart."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import Literal

import jax
import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from fedbench.bench.case import Ready, Singles
from fedbench.bench.orders import Finished, Orders, cohorts, outcome
from fedbench.bench.train import Net
from fedbench.errors import FedbenchError
from fedbench.kernels.train import LayerSpec

PART = 1000  # examples that are evaluated together
WEIGHTED = ("linear", "conv2d")  # the layers that have weights and biases


def unflattened(x: Singles, net: Net) -> list[Singles]:
    """Returns the weights and biases of a flat vector in order."""
    shapes: list[tuple[int, ...]] = []
    for layer in (layer for layer in net.layers if layer.kind in WEIGHTED):
        window = (layer.kernel, layer.kernel) if layer.kind == "conv2d" else ()
        shapes += [(layer.outputs, layer.inputs, *window), (layer.outputs,)]
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(x, ends[:-1]), shapes, strict=True)]


def applied(layer: LayerSpec, own: list[Array], a: Array, key: Array | None) -> Array:
    """Returns what a layer with its own weights and biases makes of images or rows. The key is that
    of dropout, which is off without one."""
    match layer.kind:
        case "linear":
            return jnp.add(a @ own[0].T, own[1])
        case "conv2d":
            return lax.conv_general_dilated(a, own[0], (1, 1), "VALID") + own[1][:, None, None]
        case "max_pool2d":
            window = (1, 1, layer.kernel, layer.kernel)
            return lax.reduce_window(a, -jnp.inf, lax.max, window, window, "VALID")
        case "relu":
            return jnp.maximum(a, 0)
        case "flatten":
            return a.reshape(len(a), -1)
        case "dropout" | "dropout2d":
            shape = a.shape if layer.kind == "dropout" else (*a.shape[:2], 1, 1)
            return a if key is None else jnp.where(jax.random.bernoulli(key, 1 - layer.p, shape), a / (1 - layer.p), 0)
    raise FedbenchError(f"no layer in JAX: {layer.kind}")


def logits(net: Net, parameters: list[Array], a: Array, key: Array | None) -> Array:
    begin = 0
    for number, layer in enumerate(net.layers):
        end = begin + 2 * (layer.kind in WEIGHTED)
        a = applied(layer, parameters[begin:end], a, None if key is None else jax.random.fold_in(key, number))
        begin = end
    return a


def loss(net: Net, parameters: list[Array], features: Array, labels: Array, key: Array | None) -> tuple[Array, Array]:
    """Returns the mean loss of examples, with their logits beside it."""
    found = logits(net, parameters, features, key)
    return -jnp.take_along_axis(jax.nn.log_softmax(found), labels[:, None], 1).mean(), found


def one_round(
    orders: Orders, by: Literal["map", "vmap"], x: list[Array], rows: Array, keys: Array, features: Array, labels: Array
) -> list[Array]:
    """Returns the model after a round, given the rows (cohort, steps, batch), a key for every
    client, and all examples."""
    slopes_of = jax.grad(partial(loss, orders.clients.net), has_aux=True)

    def step(parameters: list[Array], batch: tuple[Array, Array]) -> tuple[list[Array], None]:
        slopes, _ = slopes_of(parameters, features[batch[0]], labels[batch[0]], batch[1])
        return [p - orders.clients.lr * g for p, g in zip(parameters, slopes, strict=True)], None

    def end(job: tuple[Array, Array]) -> list[Array]:
        last, _ = lax.scan(step, x, (job[0], jax.random.split(job[1], len(job[0]))))
        return list(last)

    ends = lax.map(end, (rows, keys)) if by == "map" else jax.vmap(end)((rows, keys))
    return [p + orders.server_lr * (all_ends.mean(0) - p) for p, all_ends in zip(x, ends, strict=True)]


def evaluated(net: Net, x: list[Array], features: Array, labels: Array) -> tuple[Array, Array]:
    """Returns the loss and the accuracy of a model on examples."""

    def part(both: tuple[Array, Array]) -> tuple[Array, Array]:
        mean, found = loss(net, x, *both, None)
        return mean, (found.argmax(1) == both[1]).mean()

    size = next(size for size in range(min(PART, len(labels)), 0, -1) if len(labels) % size == 0)
    losses, right = lax.map(part, (features.reshape(-1, size, *features.shape[1:]), labels.reshape(-1, size)))
    return losses.mean(), right.mean()


def rounds(orders: Orders, clients_by: Literal["map", "vmap"]) -> Ready:
    """Makes one run a call, from compiled functions and with all data in place."""
    with jax.default_device(jax.devices("cpu")[0]):
        train, test, sample = ((jnp.asarray(x), jnp.asarray(y, jnp.int32)) for x, y in (orders.train, orders.test, orders.sample))
        x0 = [jnp.asarray(part) for part in unflattened(orders.x0, orders.clients.net)]
        all_rows = [jnp.asarray(rows) for rows in cohorts(orders)]
        keys = [jax.random.split(jax.random.key(version), len(rows)) for version, rows in enumerate(all_rows)]
        begin = time.perf_counter()
        trained = jax.jit(partial(one_round, orders, clients_by)).lower(x0, all_rows[0], keys[0], *train).compile()
        evaluate = jax.jit(partial(evaluated, orders.clients.net))
        scores = [(evaluate.lower(x0, *examples).compile(), examples) for examples in (test, sample)]
        compile_seconds = time.perf_counter() - begin

    def act() -> Finished:
        found, first = orders.play(
            x0,
            lambda version, x: trained(x, all_rows[version], keys[version], *train),
            lambda x: [score(x, *examples) for score, examples in scores],
        )
        (_, accuracy), _ = jax.device_get(found)[-1]
        steps = sum(math.prod(rows.shape[:2]) for rows in all_rows)
        return Finished(float(accuracy), steps, np.concatenate([np.ravel(part) for part in first]))

    return Ready(act, partial(outcome, orders), compile_seconds)
