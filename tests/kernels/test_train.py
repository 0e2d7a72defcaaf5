"""The native trainer is the formula of its LocalJob: in float64 to rounding, in float32 step by
step, on every instruction set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fedbench.kernels.random import Purpose, RandomStream
from fedbench.kernels.train import LayerSpec, LocalJob, LocalTrainer, Rule, score

from .networks import (
    BY_PRODUCTS,
    DROPOUT,
    DROPPED,
    FLATTEN,
    LEFT_OVER,
    MLP,
    NETS,
    RELU,
    SMALL_CNN,
    SOFTMAX,
    STRIDED,
    WIDE,
    Net,
    changed,
    conv,
    full_gradient,
    linear,
    nets,
    pool,
    with_outputs,
)

DETERMINISTIC = settings(
    derandomize=True, deadline=None, max_examples=20, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SHARD = np.array([*range(50, 2, -1)], np.int64)  # 48 of the 53 examples, in no order of theirs
BATCHES = st.sampled_from([1, 2, 3, 7, 8, 10, 16, 17, 20, 25, 60])
by_net = pytest.mark.parametrize("net", NETS.values(), ids=list(NETS))


def close(got: Any, want: Any, tolerance: float = 1e-10, scale: Any = None) -> bool:
    """Whether the distance is within the tolerance times the length of `scale`, or of `want`."""
    length = np.linalg.norm(want if scale is None else scale)
    return bool(np.linalg.norm(got - want) <= tolerance * length + 1e-14)


def job_of(net: Net, steps: int = 7, dtype: Any = np.float64, **changes: Any) -> LocalJob:
    start = net.start(dtype)
    return with_outputs(changed(LocalJob(2, 1, steps, SHARD, Rule(start, 0.05), start), **changes))


# ---- steps ----


@DETERMINISTIC
@given(net=nets(), batch=BATCHES, shard=st.integers(1, 48), k=st.integers(0, 5))
@example(net=WIDE, batch=7, shard=48, k=0)
def test_steps_are_those_of_the_formula(isa: str, net: Net, batch: int, shard: int, k: int) -> None:
    """Any layers, batch sizes, short last batches, shards smaller than a batch."""
    job = job_of(net, 6, k=k, shard=SHARD[:shard])
    net.trainer(batch, isa=isa).train([job])
    want = net.local(job, batch)
    assert close(job.end, want["end"], scale=want["end"] - job.rule.start)
    for name in BY_PRODUCTS:
        assert close(getattr(job, name), want[name]), name


@DETERMINISTIC
@given(net=nets(dropout=True), batch=st.sampled_from([1, 7, 10]), k=st.integers(0, 5))
def test_dropout_masks_follow_the_words(isa: str, net: Net, batch: int, k: int) -> None:
    """Step by step, layer by layer, example by example, from the job's own stream; the full
    gradient has none."""
    job = job_of(net, 6, k=k)
    net.trainer(batch, isa=isa).train([job])
    want = net.local(job, batch)
    assert close(job.end, want["end"], scale=want["end"] - job.rule.start)
    for name in BY_PRODUCTS:
        assert close(getattr(job, name), want[name]), name


RULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "large steps": {"lr": 0.7},
    "decay": {"weight_decay": 0.1},
    "prox": {"prox": 0.5},
    "correction": {"correction": "random"},
    "anchor": {"anchor": "random"},
    "all": {"lr": 0.2, "weight_decay": 0.1, "prox": 0.2, "correction": "random", "anchor": "random"},
}


@pytest.mark.parametrize("steps", [0, 1, 9])
@pytest.mark.parametrize("rule", RULES)
def test_every_field_of_a_job(isa: str, rule: str, steps: int) -> None:
    net, changes = DROPPED, dict(RULES[rule])
    for seed, name in enumerate(name for name, value in changes.items() if value == "random"):
        changes[name] = 0.1 * np.random.default_rng(3 + seed).standard_normal(net.dim)
    job = job_of(net, steps, **changes)
    net.trainer(isa=isa).train([job])
    want = net.local(job, 7)
    assert close(job.end, want["end"], scale=want["end"] - job.rule.start)
    for name in BY_PRODUCTS:
        assert close(getattr(job, name), want[name]), name
    if steps == 0:
        assert job.end.tobytes() == job.rule.start.tobytes()
        assert not job.first_gradient.any()  # type: ignore[union-attr]
        assert not job.mean_gradient.any()  # type: ignore[union-attr]


@by_net
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_by_products_change_no_bit(isa: str, net: Net, dtype: Any) -> None:
    """A plain step adds into the parameters where others make a gradient first: the same
    operations."""
    trainer = net.trainer(isa=isa, dtype=dtype)
    plain, full, general = (with_outputs(job_of(net, 9, dtype), names) for names in ((), ("full_gradient",), BY_PRODUCTS))
    plain, full = (
        replace(job, **dict.fromkeys(set(BY_PRODUCTS) - keep)) for job, keep in ((plain, set()), (full, {"full_gradient"}))
    )
    trainer.train([plain, full, general])
    assert plain.end.tobytes() == full.end.tobytes() == general.end.tobytes()
    neutral = with_outputs(job_of(net, 9, dtype, correction=np.zeros(net.dim, dtype)), ())
    trainer.train([neutral])
    assert neutral.end.tobytes() == plain.end.tobytes()


@by_net
def test_float32_is_the_formula_step_by_step(isa: str, net: Net) -> None:
    """From a common state, since K steps are not comparable: in float32 ReLU and pooling ties flip.
    Each step is a gradient to rounding, and exactly the update by it."""
    trainer, y, errors = net.trainer(10, isa=isa, dtype=np.float32), net.start(np.float32), []
    for k in range(25):
        job = LocalJob(2, k, 1, SHARD, Rule(y, 0.05), np.empty_like(y), first_gradient=np.empty_like(y))
        trainer.train([job])
        h = np.asarray(job.first_gradient, np.float64)
        want = net.local(changed(job, start=y.astype(np.float64)), 10, np.float32)["first_gradient"]
        errors.append(np.linalg.norm(h - want) / np.linalg.norm(want))
        step = np.float64(np.float32(0.05)) * h
        assert (np.abs(job.end - (y - step)) <= 2.0**-24 * (np.abs(step) + np.abs(y - step)) * 1.01).all()
        y = job.end
    assert np.median(errors) <= 1e-5
    assert np.mean(np.array(errors) <= 1e-4) >= 0.95


# ---- gradients and logits ----


@pytest.mark.parametrize("net", [SOFTMAX, SMALL_CNN, STRIDED, LEFT_OVER], ids=["softmax", "small cnn", "strided", "left over"])
def test_gradient_is_that_of_finite_differences(isa: str, net: Net) -> None:
    """Central differences of the mean loss along 30 directions, half of them along one
    parameter."""
    trainer, y, random = net.trainer(isa=isa), net.start(), np.random.default_rng(2)
    x, labels = net.data()
    gradient, h = full_gradient(trainer, y, SHARD), 1e-5

    def loss(at: Any) -> float:
        return float(score(trainer.logits(at, x[SHARD], net.classes), labels[SHARD])[0].mean())

    for trial in range(30):
        along = np.eye(net.dim)[random.integers(net.dim)] if trial % 2 else random.standard_normal(net.dim)
        along /= np.linalg.norm(along)
        slope = (loss(y + h * along) - loss(y - h * along)) / (2 * h)
        assert slope == pytest.approx(along @ gradient, abs=1e-8 * np.linalg.norm(gradient) + 1e-9)


@DETERMINISTIC
@given(net=nets(), n=st.integers(1, 53))
def test_gradient_and_logits_of_any_number_of_examples(isa: str, net: Net, n: int) -> None:
    trainer, y = net.trainer(3, isa=isa), net.start()
    x, labels = net.data()
    rows = SHARD[:n]
    assert close(full_gradient(trainer, y, rows), net.gradient(y, x[rows], labels[rows]))
    want = net.logits(torch.tensor(y), torch.tensor(x[:n])).numpy()
    assert close(trainer.logits(y, x[:n], net.classes), want)


@DETERMINISTIC
@given(net=nets(dropout=True), sizes=st.lists(st.integers(1, 30), min_size=1, max_size=3), masked=st.booleans())
def test_forward_and_pullback(isa: str, net: Net, sizes: list[int], masked: bool) -> None:
    """Several calls, which go on in one stream of masks."""
    trainer, w = net.trainer(3, isa=isa), torch.tensor(net.start(), requires_grad=True)
    x, _ = net.data()
    words, used = RandomStream(9, Purpose.dropout, 4, 6) if masked else None, 0
    for call, n in enumerate(sizes):
        slope = np.random.default_rng(call).standard_normal((n, net.classes))
        got, count = trainer.forward(w.detach().numpy(), x[:n], net.classes, (9, 4, 6, used) if masked else None)
        used += count
        want = net.logits(w, torch.tensor(x[:n]), words)
        assert close(got, want.detach().numpy())
        (gradient,) = torch.autograd.grad(want, w, torch.tensor(slope))
        assert close(trainer.pullback(slope), gradient.numpy())
    if words is not None:
        assert words.words(1)[0] == RandomStream(9, Purpose.dropout, 4, 6).words(used + 1)[-1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_score(dtype: Any) -> None:
    """Cross-entropy, whatever the size of the logits; of equally large ones the first is the
    prediction."""
    random = np.random.default_rng(0)
    logits = (random.standard_normal((400, 7)) * np.exp2(random.integers(-6, 9, (400, 1)))).round(1).astype(dtype)
    labels = random.integers(0, 7, 400)
    loss, right = score(logits, labels)
    want = torch.nn.functional.cross_entropy(torch.tensor(logits, dtype=torch.float64), torch.tensor(labels), reduction="none")
    assert np.allclose(loss, want.numpy(), rtol=1e-13, atol=1e-15)
    assert np.array_equal(right, logits.argmax(1) == labels)
    tied = (logits == logits.max(1, keepdims=True)).sum(1) > 1
    assert tied.sum() > 20
    assert right[tied].any()
    assert not right[tied].all()


# ---- what is not finite ----


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "layers", [(RELU, FLATTEN, linear(18, 3)), (pool(2), FLATTEN, linear(2, 3)), (conv(2, 3, 3), RELU, FLATTEN)]
)
def test_what_is_not_finite_travels_as_in_torch(isa: str, layers: Any, bad: float) -> None:
    """A NaN wins a maximum and passes a ReLU; minus infinity is 0 behind a ReLU."""
    net = Net((2, 3, 3), layers, 3)
    trainer, y = net.trainer(isa=isa), net.start()
    x, _ = net.data(18)
    for i in range(18):  # every place of an example in turn, among 18 examples
        x[i].flat[i] = bad
    want = net.logits(torch.tensor(y), torch.tensor(x)).numpy()
    got = trainer.logits(y, x, 3)
    assert np.isfinite(want).all() == (bad == -np.inf and layers[-1] != FLATTEN)
    assert np.allclose(got, want, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("last", [RELU, DROPOUT, FLATTEN], ids=lambda layer: layer.kind)
def test_a_network_may_end_in_any_layer(isa: str, last: LayerSpec) -> None:
    """Logits that were changed in place, and a slope that is the caller's."""
    net = replace(MLP, layers=(*MLP.layers, last))
    job = job_of(net)
    trainer = net.trainer(isa=isa)
    trainer.train([job])
    want = net.local(job, 7)
    assert close(job.end, want["end"], scale=want["end"] - job.rule.start)
    slope = np.random.default_rng(0).standard_normal((5, 4))
    before, x = slope.copy(), net.data()[0][:5]
    trainer.forward(job.rule.start, x, 4, (9, 4, 6, 0))
    got = trainer.pullback(slope)
    assert np.array_equal(slope, before)
    w = torch.tensor(job.rule.start, requires_grad=True)
    logits = net.logits(w, torch.tensor(x), RandomStream(9, Purpose.dropout, 4, 6))
    assert close(got, torch.autograd.grad(logits, w, torch.tensor(slope))[0].numpy())


def test_a_nan_reaches_the_same_gradients_as_in_torch(isa: str) -> None:
    """The derivative of ReLU is 0 where its result is 0, not where it is a NaN."""
    net = Net((6,), (linear(6, 5), RELU, linear(5, 3)), 3)
    x, labels = net.data()
    x[3, 2] = np.nan
    trainer = LocalTrainer(net.layers, x, labels, seed=0, batch_size=7, isa=isa)
    want = net.gradient(net.start(), x, labels)
    assert np.array_equal(np.isnan(full_gradient(trainer, net.start(), np.arange(53))), np.isnan(want))


def test_score_refuses_other_numbers() -> None:
    with pytest.raises(TypeError, match="logits: expected float32 or float64, got int64"):
        score(np.zeros((1, 4), np.int64), np.array([1]))


@pytest.mark.parametrize("change", [{"steps": -1}, {"client": -1}, {"client": 2**32}, {"k": -1}], ids=str)
def test_numbers_out_of_range_are_named(change: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        MLP.trainer().train([replace(job_of(MLP), **change)])
