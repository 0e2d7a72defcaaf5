"""The native trainer's doors, a scheduler's saved state and public batches: right arguments with
some odd ones give a result of the right form or an error of Python; whatever was asked before, a
right call has its right bits."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedbench.engine.public import draw_public_batches
from fedbench.errors import UsageError
from fedbench.kernels.train import LayerSpec, LocalJob, LocalTrainer, Rule, score
from tests.kernels.networks import changed

from .odd import PROFILE, SPOILERS

CLASSES = 3
NUMBERS: list[Any] = [
    0, 1, -1, 2, 7, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63), 10**400, 0.5,
    math.nan, math.inf, -math.inf, 1e308, 1e-320, True, None, "2", b"1", [], [1], {}, 1j, np.float32(1), np.int8(3), np.ones(2), object,
]  # fmt: skip
REFUSED = (TypeError, ValueError, IndexError, UsageError, RuntimeError, OverflowError, AttributeError)
"""What a door raises; a RuntimeError is that of a pullback without a forward."""

NETWORKS: list[tuple[tuple[int, ...], list[LayerSpec]]] = [
    ((4,), [LayerSpec("linear", 4, CLASSES)]),
    ((4,), [LayerSpec("linear", 4, 5), LayerSpec("relu"), LayerSpec("dropout", p=0.5), LayerSpec("linear", 5, CLASSES)]),
    (
        (1, 6, 6),
        [
            LayerSpec("conv2d", 1, 2, kernel=3, padding=1),
            LayerSpec("relu"),
            LayerSpec("max_pool2d", kernel=2, stride=2),
            LayerSpec("flatten"),
            LayerSpec("linear", 18, CLASSES),
        ],
    ),
    ((3,), [LayerSpec("last", outputs=2), LayerSpec("embedding", 5, 4), LayerSpec("linear", 8, CLASSES)]),
]


def trainer(network: int, dtype: Any, **more: Any) -> LocalTrainer:
    shape, layers = NETWORKS[network]
    x = np.linspace(-1, 1, 7 * math.prod(shape)).astype(dtype).reshape(7, *shape)
    if any(layer.kind == "embedding" for layer in layers):
        x = np.floor(2 * x + 2)
    return LocalTrainer(layers, x, np.array([0, 1, 2, 1, 0, 2, 2]), seed=1, batch_size=2, **more)


def job(owner: LocalTrainer) -> LocalJob:
    start = np.linspace(-0.5, 0.5, owner.dim).astype(owner.dtype)
    return LocalJob(1, 2, 3, np.arange(5), Rule(start, 0.05), np.zeros_like(start))


@functools.cache
def right_bits(network: int, dtype: Any) -> bytes:
    owner = trainer(network, dtype)
    good = job(owner)
    owner.train([good])
    return good.end.tobytes()


def asked(call: Any) -> None:
    """Call it; what it raises is a refusal."""
    with contextlib.suppress(*REFUSED):
        call()


def odd_array(data: st.DataObject, good: Any) -> Any:
    name = data.draw(st.sampled_from([*SPOILERS, "as it is", "huge", "not finite"]), "array")
    if name == "huge":
        return np.full_like(good, np.iinfo(good.dtype).max if good.dtype.kind == "i" else 3e38)
    if name == "not finite":
        return good * np.float32("nan") if good.dtype.kind == "f" else -good - 1
    if name == "matrix" and good.ndim > 2:
        return None
    with np.errstate(all="ignore"):
        return good if name == "as it is" or not good.size else SPOILERS[name](good)


def odd_job(data: st.DataObject, owner: LocalTrainer) -> Any:
    good = job(owner)
    extra = ("first_gradient", "mean_gradient", "full_gradient", "correction", "anchor")
    good = changed(good, **{name: good.rule.start.copy() for name in extra if data.draw(st.booleans(), name)})
    if data.draw(st.booleans(), "share"):
        good = dataclasses.replace(good, end=good.rule.start)
    names = [field.name for part in (good, good.rule) for field in dataclasses.fields(part) if field.name != "rule"]
    for field in data.draw(st.lists(st.sampled_from(names), max_size=2, unique=True), "odd"):
        value = getattr(good if hasattr(good, field) else good.rule, field)
        if isinstance(value, np.ndarray):
            value = odd_array(data, value)
        else:
            value = data.draw(st.sampled_from(NUMBERS), field)
            if field == "steps" and isinstance(value, int) and 10_000 < value < 1 << 40:
                value = 10_000  # more is lawful, and only takes long
        good = changed(good, **{field: value})
    return good


def call(data: st.DataObject, owner: LocalTrainer, network: int) -> None:
    shape, _ = NETWORKS[network]
    model, x = np.linspace(-1, 1, owner.dim).astype(owner.dtype), np.ones((3, *shape), owner.dtype)
    kind = data.draw(st.sampled_from(["train", "train", "logits", "forward", "pullback", "score"]), "call")
    odd = functools.partial(odd_array, data)
    if kind == "train":
        jobs = [odd_job(data, owner) for _ in range(data.draw(st.integers(0, 3), "jobs"))]
        owner.train(data.draw(st.sampled_from([jobs, jobs, jobs, None, [None], [1]]), "list"))
    elif kind == "logits":
        classes = data.draw(st.sampled_from([CLASSES, CLASSES, 0, 1, -1, 4, 1 << 20]), "classes")
        assert owner.logits(odd(model), odd(x), classes).shape[1] == CLASSES
    elif kind == "forward":
        masks = data.draw(
            st.sampled_from([None, (1, 2, 3, 0), (1, 2, 3, 1 << 63), (-1, 0, 0, 0), (1, 2), "abcd", (1 << 64, 0, 0, 0)])
        )
        owner.forward(odd(model), odd(x), CLASSES, masks)
    elif kind == "pullback":
        assert owner.pullback(odd(np.ones((3, CLASSES), owner.dtype))).shape == model.shape
    else:
        loss, right = score(odd(np.ones((3, CLASSES), owner.dtype)), odd(np.arange(3)))
        assert len(loss) == len(right)


@PROFILE
@given(data=st.data())
def test_a_result_or_a_refusal_and_then_the_right_bits(data: st.DataObject) -> None:
    network, dtype = (
        data.draw(st.integers(0, len(NETWORKS) - 1), "network"),
        data.draw(st.sampled_from([np.float32, np.float64]), "dtype"),
    )
    owner = trainer(network, dtype, threads=data.draw(st.sampled_from([1, 2]), "threads"))
    for _ in range(data.draw(st.integers(1, 20), "calls")):
        asked(lambda: call(data, owner, network))
    good = job(owner)
    owner.train([good])
    assert good.end.tobytes() == right_bits(network, dtype)


@PROFILE
@given(data=st.data())
def test_a_trainer_or_a_refusal(data: st.DataObject) -> None:
    shape, layers = NETWORKS[data.draw(st.integers(0, len(NETWORKS) - 1), "network")]
    x, y = np.ones((7, *shape), np.float32), np.array([0, 1, 2, 1, 0, 2, 2])
    options: dict[str, Any] = {"seed": 1, "batch_size": 2, "threads": 1, "isa": ""}
    for what in data.draw(
        st.lists(st.sampled_from(["layers", "layer", "x", "y", *options]), min_size=1, max_size=2, unique=True), "odd"
    ):
        if what == "x":
            x = odd_array(data, x) if isinstance(x, np.ndarray) else x
        elif what == "y":
            y = odd_array(data, y) if isinstance(y, np.ndarray) else y
        elif what == "layers":
            layers = data.draw(st.permutations(layers)) * data.draw(st.integers(0, 2), "times")
        elif what == "layer" and layers:
            place = data.draw(st.integers(0, len(layers) - 1), "place")
            field = data.draw(st.sampled_from([f.name for f in dataclasses.fields(LayerSpec)]), "field")
            value = data.draw(st.sampled_from([*NUMBERS, "linear", "conv2d", "max_pool2d", "flatten", "dropout2d"]), "value")
            layers = [*layers[:place], dataclasses.replace(layers[place], **{field: value}), *layers[place + 1 :]]
        elif what in options:
            numbers = [n for n in NUMBERS if what != "threads" or not isinstance(n, int) or n < 8]
            options[what] = data.draw(st.sampled_from([*numbers, "avx2", "portable", "avx1024"]), what)

    def made() -> None:
        owner = LocalTrainer(layers, x, y, **options)
        owner.train([job(owner)])

    asked(made)


@PROFILE
@given(data=st.data())
def test_public_batches_or_a_refusal(data: st.DataObject) -> None:
    arguments: dict[str, Any] = {"version": 3, "size": 4, "steps": None}
    for name in data.draw(st.lists(st.sampled_from(sorted(arguments)), max_size=2, unique=True), "odd"):
        arguments[name] = data.draw(st.sampled_from(NUMBERS), name)
    if isinstance(arguments["steps"], int) and 10_000 < arguments["steps"] < 1 << 40:
        return

    def drawn() -> None:
        batches = list(draw_public_batches(1, arguments["version"], 10, arguments["size"], arguments["steps"]))
        assert all(((rows >= 0) & (rows < 10)).all() for rows in batches)
        if arguments["steps"] is None:
            assert sorted(np.concatenate(batches).tolist()) == list(range(10))

    asked(drawn)
