"""The kernels on a GPU: the CPU's bits for every one of them, both protocols, other streams, odd
lengths, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from fedbench import kernels
from fedbench.errors import CudaError
from fedbench.kernels import AdamRule, accumulate
from tests.kernels import reference

pytestmark = pytest.mark.gpu
cuda: Any = None if kernels.build_info()["cuda"] is False else __import__("fedbench.kernels.cuda", fromlist=["cuda"])

Array = npt.NDArray[Any]
DTYPES = [np.float32, np.float64]
LENGTHS = [0, 1, 7, 8, 9, 255, 1025, 4095, 4097, 9000, 1_000_003]


@pytest.fixture(autouse=True)
def _gpu() -> None:
    if not torch.cuda.is_available():
        pytest.skip("skipped: no GPU")
    if cuda is None:
        pytest.skip("skipped: built without CUDA")


class Interface:
    """A tensor by `__cuda_array_interface__` alone, of the stream that wrote it."""

    def __init__(self, tensor: torch.Tensor, stream: int | None = 1) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = dict(tensor.__cuda_array_interface__) | {"version": 3, "stream": stream}


@pytest.fixture(params=["dlpack", "interface"])
def put(request: pytest.FixtureRequest) -> Any:
    """numpy to the device, by one of the protocols."""
    wrap = Interface if request.param == "interface" else lambda tensor: tensor
    return lambda array: wrap(torch.tensor(array, device="cuda"))


def get(array: Any) -> Array:
    tensor = array.tensor if isinstance(array, Interface) else array
    return np.asarray(torch.as_tensor(tensor, device="cuda").cpu().numpy())


def vectors(seed: int, count: int, d: int, dtype: Any) -> list[Array]:
    random = np.random.default_rng(seed)
    return list((random.standard_normal((count, d)) * np.exp2(random.integers(-8, 9, (count, d)))).astype(dtype))


def same(got: Any, want: Array) -> None:
    """Equal bits; of NaNs any."""
    got = get(got)
    assert got.dtype == want.dtype
    bad = np.isnan(want) if want.dtype.kind == "f" else np.zeros(want.shape, bool)
    assert np.array_equal(bad, np.isnan(got) if got.dtype.kind == "f" else bad)
    assert np.where(bad, 0, got).tobytes() == np.where(bad, 0, want).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", LENGTHS)
def test_sums(put: Any, d: int, dtype: Any) -> None:
    a, b, c = vectors(d, 3, d, dtype)
    w = [0.1, -0.7, 0.3]
    want, norm2 = accumulate.weighted_sum_norm(w, [a, b, c])
    got, got_norm2 = cuda.weighted_sum_norm(w, [put(a), put(b), put(c)])
    assert got_norm2 == norm2
    same(got, want)
    same(cuda.weighted_sum(w, put(np.stack([a, b, c]))), want)
    out = put(np.zeros_like(a))
    assert cuda.weighted_sum(w, [put(a), put(b), put(c)], out=out) is out
    same(out, want)
    assert cuda.dot(put(a), put(b)) == kernels.dot(a, b)
    assert cuda.norm(put(a)) == kernels.norm(a)
    assert cuda.movement(put(a), put(b), put(c)) == kernels.movement(a, b, c)


@pytest.mark.parametrize("second", ["adam", "yogi", "adagrad"])
@pytest.mark.parametrize("clip", [None, 1e-3, 5.0, 1e9])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", LENGTHS)
def test_clipped_steps(put: Any, d: int, dtype: Any, clip: float | None, second: Any) -> None:
    x, g, m, v = vectors(d, 4, d, dtype)
    v = abs(v)
    dx, dg, dm, dv = put(x), put(g), put(m), put(v)
    assert cuda.clip_sgd(dx, dg, 0.1, clip) == kernels.clip_sgd(x, g, 0.1, clip)
    for step in (1, 2, 1000):
        rule = AdamRule(0.01, bias_correction=second == "adam", step=step, second=second)
        assert cuda.clip_adam(dx, dm, dv, dg, rule, clip) == kernels.clip_adam(x, m, v, g, rule, clip)
    for got, want in ((dx, x), (dm, m), (dv, v)):
        same(got, want)


@pytest.mark.parametrize(("second", "momentum"), reference.KINDS)
@pytest.mark.parametrize("maximum", ["used", "kept", "none"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [0, 1, 4097, 100_001])
def test_adaptive_steps(put: Any, d: int, dtype: Any, maximum: str, second: Any, momentum: str) -> None:
    x, m, *deltas = vectors(d, 5, d, dtype)
    v = np.where(np.arange(d) % 3, m * m, deltas[0] * deltas[0])  # above, below and at the squares of the first direction
    state: list[Any] = [x, m, v, None if maximum == "none" else np.full(d, 0.5, dtype)]
    fused = [None if a is None else a.copy() for a in state]
    on_gpu, fused_on_gpu = ([None if a is None else put(a) for a in s] for s in (state, fused))
    on_device, use = [put(delta) for delta in deltas], maximum == "used"
    for step in (1, 2, 5):
        rule = AdamRule(0.01, 0.9, 0.99, 1e-3, momentum == "corrected", step, momentum == "ahead", second)
        kernels.adaptive_step(*state, deltas[0], rule, use_maximum=use)
        cuda.adaptive_step(*on_gpu, on_device[0], rule, use_maximum=use)
        w = np.array([0.25, -0.5, 0.3]) * step
        norm2 = kernels.sum_adaptive_step(*fused, w, deltas, rule, use_maximum=use)
        assert cuda.sum_adaptive_step(*fused_on_gpu, w, on_device, rule, use_maximum=use) == norm2
    for got, want in zip([*on_gpu, *fused_on_gpu], [*state, *fused], strict=True):
        if want is not None:
            same(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [0, 1, 9, 5000])
@pytest.mark.parametrize("order", ["deferred", "immediate", "newest"])
def test_cache(put: Any, order: Any, d: int, dtype: Any) -> None:
    arrivals, rows = vectors(1, 4, d, dtype), np.stack(vectors(2, 3, d, dtype)) if d else np.zeros((3, 0), dtype)
    clients, w, total = [2, 0, 2, 1], [0.2, -1.0, 0.5, 0.3], rows.astype(np.float64).sum(axis=0)
    want, want_rows, want_total = reference.update_cache(order, w, arrivals, clients, rows, total, 1 / 3)
    on_device, sums = [put(row) for row in rows], put(total)
    used = [] if order == "newest" else w
    got = cuda.update_cache(used, [put(a) for a in arrivals], [on_device[c] for c in clients], sums, 1 / 3, order=order)
    for a, b in zip([got, sums, *on_device], [want, want_total, *want_rows], strict=True):
        same(a, b)


@pytest.mark.parametrize("kind", ["logits", "probabilities"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("rows", "classes"),
    [(1, 2), (3, 3), (8, 10), (1000, 10), (17, 31), (5, 32), (5, 33), (2, 40), (3, 100), (2, 1025), (1, 50_000)],
)
def test_distill(put: Any, rows: int, classes: int, dtype: Any, kind: Any) -> None:
    random = np.random.default_rng(classes)
    for scale in (0.1, 3.0, 30.0):
        s, t = (random.standard_normal((2, rows, classes)) * scale).astype(dtype)
        t = kernels.softmax(t) if kind == "probabilities" else t
        compare_distilled(put, s, t, kind)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("classes", [3, 100])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(put: Any, classes: int, dtype: Any, bad: float) -> None:
    for place in (0, classes - 1):
        s, t = np.random.default_rng(3).standard_normal((2, 4, classes)).astype(dtype)
        for wrong in (s, t):
            before, wrong[2, place] = wrong[2, place], bad
            compare_distilled(put, s, t, "logits")
            wrong[2, place] = before


def compare_distilled(put: Any, s: Array, t: Array, kind: Any) -> None:
    want, got = kernels.distill(s, t, 0.2, 0.8, kind=kind), cuda.distill(put(s), put(t), 0.2, 0.8, kind=kind)
    scalars = [(r.loss, r.relative_entropy, r.alpha) for r in (got, want)]
    assert np.array_equal(*scalars, equal_nan=True)
    for name in ("grad", "probabilities", "label", "entropy", "kl", "ce"):
        same(getattr(got, name), getattr(want, name))
    loss, alpha, grad = cuda.distill_gradient(put(s), put(t), 0.2, 0.8, kind=kind)
    assert np.array_equal((loss, alpha), (want.loss, want.alpha), equal_nan=True)
    same(grad, want.grad)


@pytest.mark.parametrize("protocol", ["dlpack", "interface"])
def test_another_stream(protocol: str) -> None:
    """Inputs that a side stream is still writing are waited for; results may be used on any stream
    at once."""
    ours, theirs = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(theirs):
        torch.cuda._sleep(200_000_000)
        a = torch.full((100_001,), 3.0, device="cuda")
        array = a if protocol == "dlpack" else Interface(a, theirs.cuda_stream)
        got = cuda.weighted_sum([2.0], [array], stream=ours.cuda_stream)
    assert torch.as_tensor(got, device="cuda").eq(6).all()


def test_the_call_after_one_without_memory() -> None:
    """It is made, once: neither it nor torch meets the error of the call before."""
    x, g = torch.zeros(1000, device="cuda"), torch.ones(1000, device="cuda")
    huge = Interface(x)
    huge.__cuda_array_interface__ |= {"shape": (1 << 42,), "stream": None}
    for steps in (1, 2):
        with pytest.raises(CudaError, match="out of memory"):
            cuda.weighted_sum([1.0], [huge])
        cuda.clip_sgd(x, g, 0.5)
        assert x.eq(-0.5 * steps).all()
    with pytest.raises(CudaError, match="out of memory"):
        cuda.weighted_sum([1.0], [huge])
    assert (g + 1).eq(2).all()


def test_more_than_two_billion_elements() -> None:
    d = (1 << 31) + 5
    if torch.cuda.mem_get_info()[0] < 10 * d:
        pytest.skip("skipped: less than 20 GB of free GPU memory")
    a = torch.zeros(d, dtype=torch.float32, device="cuda")
    a[-1] = 3
    assert cuda.dot(a, a) == 9
    g = torch.zeros_like(a)
    g[-1] = 4
    assert cuda.clip_sgd(a, g, 0.5) == (4, 1)
    assert (a[-1].item(), a[:-1].any().item()) == (1, False)


def test_refused() -> None:
    a, b, host = torch.ones(4, device="cuda"), torch.ones(8, device="cuda"), np.ones(4, np.float32)
    for error, message, call in (
        (ValueError, "x: must not overlap g", lambda: cuda.clip_sgd(a, a, 1)),
        (ValueError, "out: must not overlap one of the vectors", lambda: cuda.weighted_sum([1.0], [a], out=a)),
        (ValueError, "m: must not overlap v", lambda: cuda.clip_adam(a, b[:4], b[2:6], torch.ones_like(a), AdamRule(0.1))),
        (TypeError, "g: expected length 4", lambda: cuda.clip_sgd(a, b, 1)),
        (TypeError, r"g: expected float32 \(d,\) .* not C-contiguous on CUDA device 0", lambda: cuda.clip_sgd(a, b[::2], 1)),
        (TypeError, r"g: expected float32 \(d,\) .*, got float64", lambda: cuda.clip_sgd(a, b[:4].double(), 1)),
        (TypeError, r"g: expected float32 .*, got float32 \(4,\) on the CPU", lambda: cuda.clip_sgd(a, host, 1)),
        (TypeError, "x: expected float32 or float64", lambda: kernels.clip_sgd(a, host, 1)),  # type: ignore[arg-type]
    ):
        with pytest.raises(error, match=message):
            call()
    assert a.eq(1).all()
