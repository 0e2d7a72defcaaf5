"""The kernels on a GPU, and on an emulated one: the CPU's bits for every one of them, both
protocols, other streams, odd lengths, what is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from fedbench import kernels
from fedbench.errors import CudaError
from fedbench.kernels import AdamRule, accumulate
from tests.kernels import emulated, reference

Array = npt.NDArray[Any]
DTYPES = [np.float32, np.float64]
LENGTHS = [0, 1, 7, 8, 9, 255, 1025, 4095, 4097, 9000, pytest.param(1_000_003, marks=pytest.mark.gpu)]


class OfTensor:
    """A tensor by `__cuda_array_interface__` alone, of the stream that wrote it."""

    def __init__(self, tensor: torch.Tensor, stream: int | None = 1) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = dict(tensor.__cuda_array_interface__) | {"version": 3, "stream": stream}


@dataclass(frozen=True)
class Device:
    """Where the kernels run, and by which protocol they get arrays.

    raw: numpy's numbers as memory of the device, which slices as numpy does.
    wrap: that memory as an array of the protocol.
    get: the numbers of an array.
    """

    cuda: Any
    raw: Callable[[Array], Any]
    wrap: Callable[[Any], Any]
    get: Callable[[Any], Array]

    def put(self, array: Array) -> Any:
        return self.wrap(self.raw(array))


def from_gpu(array: Any) -> Array:
    tensor = array.tensor if isinstance(array, OfTensor) else array
    return np.asarray(torch.as_tensor(tensor, device="cuda").cpu().numpy())


@pytest.fixture(
    params=[
        pytest.param("gpu-dlpack", marks=pytest.mark.gpu),
        pytest.param("gpu-interface", marks=pytest.mark.gpu),
        "emulated-dlpack",
        "emulated-interface",
    ]
)
def device(request: pytest.FixtureRequest) -> Device:
    """A device and a protocol."""
    where, _, protocol = request.param.partition("-")
    if where == "emulated":
        if request.node.get_closest_marker("gpu"):
            pytest.skip("skipped: it takes long without a GPU")
        return Device(
            emulated.load().kernels, np.array, emulated.Exported if protocol == "dlpack" else emulated.Interface, emulated.host
        )
    cuda = on_gpu()
    return Device(
        cuda, lambda array: torch.tensor(array, device="cuda"), OfTensor if protocol == "interface" else lambda t: t, from_gpu
    )


def on_gpu() -> Any:
    """fedbench.kernels.cuda, where there is a GPU."""
    if not torch.cuda.is_available():
        pytest.skip("skipped: no GPU")
    if kernels.build_info()["cuda"] is False:
        pytest.skip("skipped: built without CUDA")
    from fedbench.kernels import cuda

    return cuda


@pytest.fixture
def gpu() -> Any:
    return on_gpu()


def vectors(seed: int, count: int, d: int, dtype: Any) -> list[Array]:
    random = np.random.default_rng(seed)
    return list((random.standard_normal((count, d)) * np.exp2(random.integers(-8, 9, (count, d)))).astype(dtype))


def same(got: Array, want: Array) -> None:
    """Equal bits; of NaNs any."""
    assert got.dtype == want.dtype
    bad = np.isnan(want) if want.dtype.kind == "f" else np.zeros(want.shape, bool)
    assert np.array_equal(bad, np.isnan(got) if got.dtype.kind == "f" else bad)
    assert np.where(bad, 0, got).tobytes() == np.where(bad, 0, want).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", LENGTHS)
def test_sums(device: Device, d: int, dtype: Any) -> None:
    cuda, put = device.cuda, device.put
    a, b, c = vectors(d, 3, d, dtype)
    w = [0.1, -0.7, 0.3]
    want, norm2 = accumulate.weighted_sum_norm(w, [a, b, c])
    got, got_norm2 = cuda.weighted_sum_norm(w, [put(a), put(b), put(c)])
    assert got_norm2 == norm2
    same(device.get(got), want)
    same(device.get(cuda.weighted_sum(w, put(np.stack([a, b, c])))), want)
    out = put(np.zeros_like(a))
    assert cuda.weighted_sum(w, [put(a), put(b), put(c)], out=out) is out
    same(device.get(out), want)
    assert cuda.dot(put(a), put(b)) == kernels.dot(a, b)
    assert cuda.norm(put(a)) == kernels.norm(a)
    assert cuda.movement(put(a), put(b), put(c)) == kernels.movement(a, b, c)


@pytest.mark.parametrize("second", ["adam", "yogi", "adagrad"])
@pytest.mark.parametrize("clip", [None, 1e-3, 5.0, 1e9])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", LENGTHS)
def test_clipped_steps(device: Device, d: int, dtype: Any, clip: float | None, second: Any) -> None:
    cuda, put = device.cuda, device.put
    x, g, m, v = vectors(d, 4, d, dtype)
    v = abs(v)
    dx, dg, dm, dv = put(x), put(g), put(m), put(v)
    assert cuda.clip_sgd(dx, dg, 0.1, clip) == kernels.clip_sgd(x, g, 0.1, clip)
    for step in (1, 2, 1000):
        rule = AdamRule(0.01, bias_correction=second == "adam", step=step, second=second)
        assert cuda.clip_adam(dx, dm, dv, dg, rule, clip) == kernels.clip_adam(x, m, v, g, rule, clip)
    for got, want in ((dx, x), (dm, m), (dv, v)):
        same(device.get(got), want)


@pytest.mark.parametrize(("second", "momentum"), reference.KINDS)
@pytest.mark.parametrize("maximum", ["used", "kept", "none"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [0, 1, 4097, pytest.param(100_001, marks=pytest.mark.gpu)])
def test_adaptive_steps(device: Device, d: int, dtype: Any, maximum: str, second: Any, momentum: str) -> None:
    cuda, put = device.cuda, device.put
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
        kernels.sum_adaptive_step(*fused, w, deltas, rule, use_maximum=use)
        cuda.sum_adaptive_step(*fused_on_gpu, w, on_device, rule, use_maximum=use)
    for got, want in zip([*on_gpu, *fused_on_gpu], [*state, *fused], strict=True):
        if want is not None:
            same(device.get(got), want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [0, 1, 9, 5000])
@pytest.mark.parametrize("order", ["deferred", "immediate", "newest"])
def test_cache(device: Device, order: Any, d: int, dtype: Any) -> None:
    cuda, put = device.cuda, device.put
    arrivals, rows = vectors(1, 4, d, dtype), np.stack(vectors(2, 3, d, dtype)) if d else np.zeros((3, 0), dtype)
    clients, w, total = [2, 0, 2, 1], [0.2, -1.0, 0.5, 0.3], rows.astype(np.float64).sum(axis=0)
    want, want_rows, want_total = reference.update_cache(order, w, arrivals, clients, rows, total, 1 / 3)
    on_device, sums = [put(row) for row in rows], put(total)
    used = [] if order == "newest" else w
    got = cuda.update_cache(used, [put(a) for a in arrivals], [on_device[c] for c in clients], sums, 1 / 3, order=order)
    for a, b in zip([got, sums, *on_device], [want, want_total, *want_rows], strict=True):
        same(device.get(a), b)


@pytest.mark.parametrize("kind", ["logits", "probabilities"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("rows", "classes"),
    [
        (1, 2),
        (3, 3),
        (8, 10),
        (40, 10),
        pytest.param(1000, 10, marks=pytest.mark.gpu),
        (17, 31),
        (5, 32),
        (5, 33),
        (2, 40),
        (3, 100),
        (2, 1025),
        (1, 50_000),
    ],
)
def test_distill(device: Device, rows: int, classes: int, dtype: Any, kind: Any) -> None:
    random = np.random.default_rng(classes)
    for scale in (0.1, 3.0, 30.0):
        s, t = (random.standard_normal((2, rows, classes)) * scale).astype(dtype)
        t = kernels.softmax(t) if kind == "probabilities" else t
        compare_distilled(device, s, t, kind)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("classes", [3, 100])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(device: Device, classes: int, dtype: Any, bad: float) -> None:
    for place in (0, classes - 1):
        s, t = np.random.default_rng(3).standard_normal((2, 4, classes)).astype(dtype)
        for wrong in (s, t):
            before, wrong[2, place] = wrong[2, place], bad
            compare_distilled(device, s, t, "logits")
            wrong[2, place] = before


def compare_distilled(device: Device, s: Array, t: Array, kind: Any) -> None:
    cuda, put = device.cuda, device.put
    want, got = kernels.distill(s, t, 0.2, 0.8, kind=kind), cuda.distill(put(s), put(t), 0.2, 0.8, kind=kind)
    scalars = [(r.loss, r.relative_entropy, r.alpha) for r in (got, want)]
    assert np.array_equal(*scalars, equal_nan=True)
    for name in ("grad", "probabilities", "label", "entropy", "kl", "ce"):
        same(device.get(getattr(got, name)), getattr(want, name))
    same(device.get(cuda.distill_gradient(put(s), put(t), 0.2, 0.8, kind=kind)), want.grad)


@pytest.mark.gpu
@pytest.mark.parametrize("protocol", ["dlpack", "interface"])
def test_another_stream(gpu: Any, protocol: str) -> None:
    """Inputs that a side stream is still writing are waited for; results may be used on any stream
    at once."""
    ours, theirs = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(theirs):
        torch.cuda._sleep(200_000_000)
        a = torch.full((100_001,), 3.0, device="cuda")
        array = a if protocol == "dlpack" else OfTensor(a, theirs.cuda_stream)
        got = gpu.weighted_sum([2.0], [array], stream=ours.cuda_stream)
    assert torch.as_tensor(got, device="cuda").eq(6).all()


@pytest.mark.gpu
def test_the_call_after_one_without_memory(gpu: Any) -> None:
    """It is made, once: neither it nor torch meets the error of the call before."""
    x, g = torch.zeros(1000, device="cuda"), torch.ones(1000, device="cuda")
    huge = OfTensor(x)
    huge.__cuda_array_interface__ |= {"shape": (1 << 42,), "stream": None}
    for steps in (1, 2):
        with pytest.raises(CudaError, match="out of memory"):
            gpu.weighted_sum([1.0], [huge])
        gpu.clip_sgd(x, g, 0.5)
        assert x.eq(-0.5 * steps).all()
    with pytest.raises(CudaError, match="out of memory"):
        gpu.weighted_sum([1.0], [huge])
    assert (g + 1).eq(2).all()


@pytest.mark.gpu
def test_more_than_two_billion_elements(gpu: Any) -> None:
    d = (1 << 31) + 5
    if torch.cuda.mem_get_info()[0] < 10 * d:
        pytest.skip("skipped: less than 20 GB of free GPU memory")
    a = torch.zeros(d, dtype=torch.float32, device="cuda")
    a[-1] = 3
    assert gpu.dot(a, a) == 9
    g = torch.zeros_like(a)
    g[-1] = 4
    assert gpu.clip_sgd(a, g, 0.5) == (4, 1)
    assert (a[-1].item(), a[:-1].any().item()) == (1, False)


def test_refused(device: Device) -> None:
    cuda, wrap = device.cuda, device.wrap
    x, y, host = device.raw(np.ones(4, np.float32)), device.raw(np.ones(8, np.float32)), np.ones(4, np.float32)
    a, b, wide = wrap(x), wrap(y), device.put(np.ones(4))
    for error, message, call in (
        (ValueError, "x: must not overlap g", lambda: cuda.clip_sgd(a, wrap(x), 1)),
        (ValueError, "x: must not overlap g", lambda: cuda.clip_sgd(a, a, 1)),
        (ValueError, "out: must not overlap one of the vectors", lambda: cuda.weighted_sum([1.0], [a], out=a)),
        (
            ValueError,
            "m: must not overlap v",
            lambda: cuda.clip_adam(a, wrap(y[:4]), wrap(y[2:6]), device.put(host), AdamRule(0.1)),
        ),
        (TypeError, "g: expected length 4", lambda: cuda.clip_sgd(a, b, 1)),
        (
            TypeError,
            r"g: expected float32 \(d,\) .* not C-contiguous on CUDA device 0",
            lambda: cuda.clip_sgd(a, wrap(y[::2]), 1),
        ),
        (TypeError, r"g: expected float32 \(d,\) .*, got float64", lambda: cuda.clip_sgd(a, wide, 1)),
        (TypeError, r"g: expected float32 .*, got float32 \(4,\) on the CPU", lambda: cuda.clip_sgd(a, host, 1)),
        (TypeError, "x: expected float32 or float64", lambda: kernels.clip_sgd(a, host, 1)),
    ):
        with pytest.raises(error, match=message):
            call()
    assert (device.get(a) == 1).all()


# ---- what only the emulation can show ----


def read_only(array: Array) -> Array:
    array.setflags(write=False)
    return array


def without_words(array: Array) -> Any:
    return emulated.Exported(array, version=(0, 8))


def with_both(array: Array) -> Any:
    """Knows an old DLPack, and `__cuda_array_interface__`."""
    found = without_words(np.array(array))
    found.__cuda_array_interface__ = emulated.Interface(array).__cuda_array_interface__
    return found


@pytest.mark.parametrize("protocol", [emulated.Exported, emulated.Interface, with_both])
def test_what_is_read_only_is_read_and_not_written(protocol: Any) -> None:
    cuda = emulated.load().kernels
    x, g = protocol(read_only(np.ones(4, np.float32))), protocol(read_only(np.full(4, 2, np.float32)))
    assert cuda.dot(x, g) == 8
    for call in (
        lambda: cuda.clip_sgd(x, g, 1),
        lambda: cuda.clip_adam(x, g, g, g, AdamRule(0.1)),
        lambda: cuda.weighted_sum([1.0], [g], out=x),
    ):
        with pytest.raises(TypeError, match=r"^(x|out): expected a writeable array, got a read-only one$"):
            call()
    assert (emulated.host(x) == 1).all()


def test_who_cannot_say_read_only_is_not_written() -> None:
    cuda = emulated.load().kernels
    x, g = without_words(np.ones(4, np.float32)), without_words(np.ones(4, np.float32))
    with pytest.raises(TypeError, match=r"^x: expected a writeable array, got one that does not say so: neither DLPack 1\.0 nor"):
        cuda.clip_sgd(x, g, 1)
    y = with_both(np.ones(4, np.float32))
    cuda.clip_sgd(y, g, 0.5)
    assert (y.array == 0.5).all()


def test_an_array_is_asked_once_a_call() -> None:
    cuda = emulated.load().kernels
    x, m, v, g = (emulated.Exported(np.ones(4, np.float32)) for _ in range(4))
    cuda.clip_adam(x, m, v, g, AdamRule(0.1), stream=7)
    assert [(array.exports, array.streams) for array in (x, m, v, g)] == [(1, [7])] * 4
    rows = [emulated.Exported(np.ones(4, np.float32)) for _ in range(3)]
    cuda.weighted_sum([1.0] * 3, rows)
    assert [row.exports for row in rows] == [1] * 3


def test_what_fails_in_an_exporter_is_told() -> None:
    class Broken(emulated.Exported):
        def __dlpack__(self, **_: Any) -> object:
            raise BufferError("a tensor that requires a gradient")

    with pytest.raises(BufferError, match="requires a gradient"):
        emulated.load().kernels.dot(Broken(np.ones(4, np.float32)), Broken(np.ones(4, np.float32)))


def test_a_call_waits_for_the_stream_of_an_array() -> None:
    cuda, extension = emulated.load()
    extension.reset()
    a, b = emulated.Interface(np.ones(4), 5), emulated.Interface(np.ones(4), None)
    cuda.dot(a, b, stream=9)
    cuda.dot(a, b, stream=5)
    assert extension.counts()["waits"] == [(9, 5)]


@pytest.mark.parametrize(("current", "taken"), [(7, 7), (0, 1)])
def test_a_call_runs_on_the_stream_of_torch(current: int, taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If its first array is a tensor of torch, or the result of a call there, and no stream is
    named. 0 is torch's default stream, which is the legacy one."""

    class Tensor(emulated.Exported):
        device = "cuda:0"

    asked: list[object] = []
    stream = SimpleNamespace(cuda_stream=current)
    torch = SimpleNamespace(Tensor=Tensor, cuda=SimpleNamespace(current_stream=lambda device: asked.append(device) or stream))
    monkeypatch.setitem(sys.modules, "torch", torch)
    later = emulated.later()
    a, b = Tensor(np.ones(4)), emulated.Exported(np.ones(4))
    assert later.dot(a, b).__cuda_array_interface__["stream"] == taken
    later.dot(b, a)
    later.dot(a, b, stream=9)
    assert (a.streams, b.streams, asked) == ([taken, 1, 9], [taken, 1, 9], ["cuda:0"])
    total = later.weighted_sum([1.0], [a])
    assert later.dot(total, b).__cuda_array_interface__["stream"] == taken
    monkeypatch.setitem(sys.modules, "torch", None)
    assert later.dot(a, b).__cuda_array_interface__["stream"] == 1


def test_numbers_for_later_are_read_after_their_stream() -> None:
    (_, extension), later = emulated.load(), emulated.later()
    a = emulated.Exported(np.array([1.0, 2, 3]))
    product, x = later.dot(a, a), later.weighted_sum([1.0], [a])
    extension.reset()
    assert product.tolist() == [14]
    assert (extension.counts()["to_host"], extension.counts()["host_waits"]) == (8, 1)
    assert x.tolist() == [1, 2, 3]
    grid = later.distill_gradient(*(emulated.Exported(np.ones((2, 3))) for _ in range(2)), 0.2, 0.8)
    for wrong, said in (
        (grid, r"float64 \(2, 3\)"),
        (later.weighted_sum([1.0], [emulated.Exported(np.ones(2, np.float32))]), "float32"),
    ):
        with pytest.raises(TypeError, match=rf"^tolist: expected float64 \(n,\), got {said}"):
            wrong.tolist()


def test_what_a_server_step_launches_and_copies() -> None:
    """One kernel and no copy. The host waits at its end, and for nothing where it is for later."""
    (cuda, extension), later = emulated.load(), emulated.later()
    state = [emulated.Exported(np.ones(4097, np.float32)) for _ in range(4)]
    deltas = [emulated.Exported(np.ones(4097, np.float32)) for _ in range(3)]
    for step, waits in ((cuda.sum_adaptive_step, 1), (later.sum_adaptive_step, 0)):
        extension.reset()
        step(*state, [0.5, 0.25, 0.25], deltas, AdamRule(0.1))
        counted = extension.counts()
        assert (counted["launches"], counted["to_host"], counted["to_device"], counted["host_waits"]) == (1, 0, 0, waits)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_for_later_is_the_same_and_stays_on_the_device(dtype: Any) -> None:
    (cuda, extension), later = emulated.load(), emulated.later()
    x, a, b, c = vectors(3, 4, 5000, dtype)
    grids, rule, clip = np.stack([a, b]).reshape(1000, 10), AdamRule(0.01), (0.1, 5.0)
    c = abs(c)

    def all_of(module: Any, number: Callable[[Any], Any]) -> list[Any]:
        put = [emulated.Exported(np.array(v)) for v in (x, a, b, c)]
        s, t = (emulated.Exported(np.array(g)) for g in (grids, 2 * grids))
        total = emulated.Exported(np.zeros(5000))
        return [
            *module.weighted_sum_norm([0.1, 0.2], put[1:3]),
            module.weighted_sum([0.1, 0.2], put[1:3]),
            number(module.dot(put[0], put[1])),
            number(module.movement(*put[:3])),
            number(module.clip_sgd(put[0], put[1], *clip)),
            number(module.clip_adam(put[0], put[2], put[3], put[1], rule, 5.0)),
            module.adaptive_step(put[0], put[2], put[3], None, put[1], rule, use_maximum=False),
            module.update_cache([0.5], [put[1]], [put[2]], total, 0.5),
            put[0],
            module.distill_gradient(s, t, 0.2, 0.8),
        ]

    extension.reset()
    found = all_of(later, lambda numbers: numbers)
    assert extension.counts()["to_host"] == 0
    assert found[3].__cuda_array_interface__["stream"] == 1
    want = all_of(cuda, lambda numbers: numbers)
    for got, exact in zip(found, want, strict=True):
        if exact is not None:
            number = isinstance(exact, float | tuple) or hasattr(exact, "x2")
            exact = np.atleast_1d(np.array(exact, np.float64)) if number else emulated.host(exact)  # noqa: PLW2901
            same(emulated.host(got), exact)


def test_the_emulation_is_in_no_installation() -> None:
    assert emulated.load().extension.architectures == "emulated"
    assert kernels.build_info()["cuda"] != ["sm_emulated"]
