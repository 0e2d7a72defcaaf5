"""Federated averaging as a JAX program: a round is one jitted function, which trains the clients
one after the other (`lax.map`) or side by side (`vmap`), with a scan over their steps. Compiling is
not timed with the run, but told apart. jax is imported when it starts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from fedbench.bench.case import Ready
from fedbench.bench.orders import SAMPLE, Clients, Finished, Orders, cohorts, outcome
from fedbench.bench.train import Net

PART = 1000  # examples that are evaluated together
WEIGHTED = ("linear", "conv2d")  # the layers that have weights and biases

Logits = Callable[[Any, Any, Any], Any]
"""Of weights and biases, features (B, *shape) and a key of dropout, which is None in evaluation."""


def unflattened(x: Any, net: Net) -> list[Any]:
    """Returns the weights and biases of a flat vector in order."""
    shapes: list[tuple[int, ...]] = []
    for name, *sizes in (layer for layer in net.layers if layer[0] in WEIGHTED):
        window = (sizes[2], sizes[2]) if name == "conv2d" else ()
        shapes += [(sizes[1], sizes[0], *window), (sizes[1],)]
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(x, ends[:-1]), shapes, strict=True)]


def layer_of(layer: tuple[Any, ...]) -> Logits:
    """Returns a layer as a function of its weights and biases, images or rows, and a key."""
    import jax
    from jax import lax
    from jax import numpy as jnp

    window = (1, 1, layer[3], layer[3]) if layer[0] == "max_pool2d" else ()

    def dropped(a: Any, key: Any, shape: tuple[int, ...]) -> Any:
        keep = 1 - layer[6]
        return a if key is None else jnp.where(jax.random.bernoulli(key, keep, shape), a / keep, 0)

    def convolved(own: Any, a: Any, _: Any) -> Any:
        return lax.conv_general_dilated(a, own[0], (1, 1), "VALID") + own[1][:, None, None]

    makers: dict[str, Logits] = {
        "linear": lambda own, a, _: a @ own[0].T + own[1],
        "conv2d": convolved,
        "max_pool2d": lambda _, a, __: lax.reduce_window(a, -jnp.inf, lax.max, window, window, "VALID"),
        "relu": lambda _, a, __: jnp.maximum(a, 0),
        "flatten": lambda _, a, __: a.reshape(len(a), -1),
        "dropout": lambda _, a, key: dropped(a, key, a.shape),
        "dropout2d": lambda _, a, key: dropped(a, key, (*a.shape[:2], 1, 1)),
    }
    return makers[layer[0]]


def logits_of(net: Net) -> Logits:
    import jax

    layers = [(layer_of(layer), 2 if layer[0] in WEIGHTED else 0) for layer in net.layers]

    def logits(parameters: Any, a: Any, key: Any) -> Any:
        begin = 0
        for number, (layer, tensors) in enumerate(layers):
            own = None if key is None else jax.random.fold_in(key, number)
            a, begin = layer(parameters[begin : begin + tensors], a, own), begin + tensors
        return a

    return logits


def loss_of(logits: Logits) -> Callable[..., tuple[Any, Any]]:
    """Returns the function of the mean loss of examples, with its logits beside it."""
    import jax
    from jax import numpy as jnp

    def loss(parameters: Any, features: Any, labels: Any, key: Any) -> tuple[Any, Any]:
        found = logits(parameters, features, key)
        return -jnp.take_along_axis(jax.nn.log_softmax(found), labels[:, None], 1).mean(), found

    return loss


def round_of(orders: Orders, clients: Clients, clients_by: Literal["map", "vmap"]) -> Callable[..., Any]:
    """Returns the function of a round: of the model, the rows (cohort, steps, batch), a key for
    every client, and all examples."""
    import jax
    from jax import lax

    slopes_of, lr = jax.grad(loss_of(logits_of(clients.net)), has_aux=True), clients.lr

    def one_round(x: Any, rows: Any, keys: Any, features: Any, labels: Any) -> Any:
        def step(parameters: Any, batch: Any) -> tuple[Any, None]:
            slopes, _ = slopes_of(parameters, features[batch[0]], labels[batch[0]], batch[1])
            return jax.tree.map(lambda p, g: p - lr * g, parameters, slopes), None

        def end(job: Any) -> Any:
            return lax.scan(step, x, (job[0], jax.random.split(job[1], len(job[0]))))[0]

        ends = lax.map(end, (rows, keys)) if clients_by == "map" else jax.vmap(end)((rows, keys))
        return jax.tree.map(lambda p, all_ends: p + orders.server_lr * (all_ends.mean(0) - p), x, ends)

    return one_round


def evaluation_of(net: Net) -> Callable[..., tuple[Any, Any]]:
    """Returns the function of the loss and the accuracy of a model on examples."""
    from jax import lax

    loss_on = loss_of(logits_of(net))

    def evaluate(x: Any, features: Any, labels: Any) -> tuple[Any, Any]:
        def part(both: tuple[Any, Any]) -> tuple[Any, Any]:
            loss, logits = loss_on(x, *both, None)
            return loss, (logits.argmax(1) == both[1]).mean()

        size = next(size for size in range(min(PART, len(labels)), 0, -1) if len(labels) % size == 0)
        losses, right = lax.map(part, (features.reshape(-1, size, *features.shape[1:]), labels.reshape(-1, size)))
        return losses.mean(), right.mean()

    return evaluate


def rounds(given: tuple[Orders, Clients], clients_by: Literal["map", "vmap"]) -> Ready:
    """Makes one run a call, from compiled functions and with all data in place."""
    import jax
    from jax import numpy as jnp

    orders, clients = given
    with jax.default_device(jax.devices("cpu")[0]):
        train = jnp.asarray(clients.x), jnp.asarray(clients.y, jnp.int32)
        test = jnp.asarray(orders.test[0]), jnp.asarray(orders.test[1], jnp.int32)
        evaluated = test, (train[0][:SAMPLE], train[1][:SAMPLE])
        x0 = [jnp.asarray(part) for part in unflattened(orders.x0, clients.net)]
        all_rows = [jnp.asarray(rows) for rows in cohorts(orders, clients)]
        keys = [jax.random.split(jax.random.key(version), len(rows)) for version, rows in enumerate(all_rows)]
        begin = time.perf_counter()
        one_round = jax.jit(round_of(orders, clients, clients_by)).lower(x0, all_rows[0], keys[0], *train).compile()
        evaluate = jax.jit(evaluation_of(clients.net))
        scores = [evaluate.lower(x0, *examples).compile() for examples in evaluated]
        compile_seconds = time.perf_counter() - begin

    def act() -> Finished:
        x = first = x0
        found, trained = [], 0
        for version in range(len(all_rows) + 1):
            first = x if version == 1 else first
            if version in orders.evaluated:
                found.append([score(x, *examples) for score, examples in zip(scores, evaluated, strict=True)])
            if version < len(all_rows):
                x = one_round(x, all_rows[version], keys[version], *train)
                trained += math.prod(all_rows[version].shape[:2])
        (_, accuracy), _ = jax.device_get(found)[-1]
        return Finished(float(accuracy), trained, np.concatenate([np.ravel(part) for part in first]))

    return Ready(act, lambda finished: outcome(orders, clients, finished), compile_seconds)
