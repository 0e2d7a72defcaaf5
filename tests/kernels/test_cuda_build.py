"""CUDA without a GPU: the kernels compile and link for sm_80 and sm_90, and their front door
refuses what it must.

That they compute the right bits is csrc/tests/test_cuda.cpp (on the host) and test_cuda.py (on a
GPU).
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.kernels import build_info, clip_sgd

ROOT = Path(__file__).resolve().parents[2]
BUILT = build_info()["cuda"] is not False


class Elsewhere:
    """An array that says it is on a device; there is nothing behind it."""

    dtype = np.dtype(np.float32)
    shape = (4,)
    __cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3}  # noqa: RUF012


def test_build_info_says_false_or_the_architectures() -> None:
    assert (importlib.util.find_spec("fedbench._cuda") is not None) == BUILT
    if BUILT:
        assert all(name.startswith("sm_") for name in build_info()["cuda"])


@pytest.mark.skipif(BUILT, reason="built with CUDA")
def test_without_the_extension_the_import_says_how_to_get_it() -> None:
    with pytest.raises(ImportError, match=r"built without CUDA; install with .*FEDBENCH_CUDA=ON .*CONTRIBUTING") as caught:
        importlib.import_module("fedbench.kernels.cuda")
    assert isinstance(caught.value, UsageError)


def test_a_device_array_is_refused_on_the_cpu() -> None:
    with pytest.raises(TypeError, match=r"x: expected float32 or float64 \(d,\) C-contiguous, got Elsewhere on a CUDA device"):
        clip_sgd(Elsewhere(), np.ones(4, np.float32), 1.0)  # type: ignore[arg-type]


CHECKS = r"""
import importlib.util, sys
import numpy as np, pytest, torch
import fedbench
spec = importlib.util.spec_from_file_location("fedbench._cuda", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["fedbench._cuda"] = fedbench._cuda = module
spec.loader.exec_module(module)

from fedbench.errors import CudaError
from fedbench.kernels import AdamRule, build_info, cuda

assert build_info()["cuda"] == ["sm_80", "sm_90"]

class Device:
    def __init__(self, typestr="<f4", shape=(0,), readonly=False, **more):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (4096, readonly), "version": 3} | more

x, host = Device(), np.ones(3, np.float32)
refused = [
    (r"x: expected float32 or float64 on a CUDA device, got float32 \(3,\) on the CPU", lambda: cuda.clip_sgd(host, x, 1)),
    (r"g: expected float32 \(d,\) C-contiguous on a CUDA device, got float32 \(3,\) on the CPU", lambda: cuda.clip_sgd(x, host, 1)),
    (r"got float32 \(3,\) on the CPU", lambda: cuda.clip_sgd(x, torch.ones(3), 1)),
    (r"x: expected float32 or float64 on a CUDA device, got list", lambda: cuda.clip_sgd([1.0], x, 1)),
    (r"x: expected float32 or float64 on a CUDA device, got int64 \(0,\)", lambda: cuda.clip_sgd(Device("<i8"), x, 1)),
    (r"g: expected float32 \(d,\) .*, got float64 \(0,\) on CUDA", lambda: cuda.clip_sgd(x, Device("<f8"), 1)),
    (r"g: expected float32 \(d,\) .*, got float32 \(0, 2\) on CUDA", lambda: cuda.clip_sgd(x, Device(shape=(0, 2)), 1)),
    (r"x: expected a writeable array", lambda: cuda.clip_sgd(Device(readonly=True), x, 1)),
    (r"student: expected float32 \(B, C\)", lambda: cuda.distill(x, x, 0, 1)),
    (r"vectors: expected float32 or float64 \(K, d\) on a CUDA device", lambda: cuda.weighted_sum([1.0], host[None])),
]
for message, call in refused:
    with pytest.raises(TypeError, match=message):
        call()
for message, call in [
    ("clip: must be > 0 or None", lambda: cuda.clip_sgd(x, x, 1, 0)),
    ("at least one vector", lambda: cuda.weighted_sum([], [])),
    ("kind: expected", lambda: cuda.distill(x, x, 0, 1, kind="odds")),
    ("order: expected", lambda: cuda.update_cache([1.0], [x], [x], Device("<f8"), 1.0, order="x", out=x)),
    ("step: must be a whole number between 1 and", lambda: cuda.clip_adam(x, x, x, x, AdamRule(0.1, step=0))),
    ("one weight per vector, got 2", lambda: cuda.weighted_sum([1.0, 2.0], [x], out=x)),
]:
    with pytest.raises(ValueError, match=message):
        call()
if not torch.cuda.is_available():
    with pytest.raises(CudaError, match=r"^\w+: .*(driver|device)"):
        cuda.dot(Device(shape=(4,)), x)
print("refused")
"""


@pytest.mark.slow
def test_compiles_links_and_refuses(tmp_path: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("skipped: no nvcc")
    import pybind11

    options = ["-DFEDBENCH_CUDA=ON", f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]
    subprocess.run(["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", *options], check=True, capture_output=True)
    built = subprocess.run(["cmake", "--build", tmp_path, "--target", "_cuda"], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout[-4000:]
    assert "warning" not in built.stdout
    (extension,) = tmp_path.glob("_cuda*.so")
    commands = [line for line in (tmp_path / "build.ninja").read_text().splitlines() if "--fmad=false" in line]
    assert commands
    assert all("sm_80" in line and "sm_90" in line for line in commands)
    ran = subprocess.run([sys.executable, "-c", CHECKS, extension], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "refused", ran.stderr[-4000:]


@pytest.mark.slow
def test_asked_for_but_absent_is_an_error(tmp_path: Path) -> None:
    options = ["-DFEDBENCH_CUDA=ON", "-DFEDBENCH_PYTHON=OFF", "-DCMAKE_CUDA_COMPILER=CMAKE_CUDA_COMPILER-NOTFOUND"]
    ran = subprocess.run(
        ["cmake", "-S", ROOT, "-B", tmp_path, *options],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
    )
    assert ran.returncode != 0
    assert "FEDBENCH_CUDA=ON needs the CUDA toolkit" in ran.stderr
