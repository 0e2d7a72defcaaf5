"""fedbench.kernels.cuda on an emulated GPU, whose memory is the host's: for tests alone.

The extension is compiled when a test first asks for it, into build/emulated, where no import of
fedbench looks.
"""

from __future__ import annotations

import fcntl
import functools
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import fedbench
import fedbench.kernels

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "emulated"
NAME = "_cuda_emulated"


class Emulated(NamedTuple):
    """The module fedbench.kernels.cuda, and the extension below it, which counts what it does."""

    kernels: Any
    extension: Any


@functools.cache
def load() -> Emulated:
    """Returns a copy of fedbench.kernels.cuda over the emulation. What is imported elsewhere stays
    as it is."""
    extension = _module(NAME, built(NAME).with_suffix(sysconfig.get_config_var("EXT_SUFFIX")))
    front = "fedbench.kernels.cuda"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "fedbench._cuda", extension)
        patch.setattr(fedbench, "_cuda", extension, raising=False)
        return Emulated(_module(front, Path(fedbench.kernels.__file__).with_name("cuda.py")), extension)


@functools.cache
def later() -> Any:
    """Returns a copy of fedbench.kernels.cuda_later over the emulation."""
    under = load()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "fedbench.kernels.cuda", under.kernels)
        patch.setattr(fedbench, "_cuda", under.extension, raising=False)
        return _module("fedbench.kernels.cuda_later", Path(fedbench.kernels.__file__).with_name("cuda_later.py"))


def _module(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(target: str) -> Path:
    """Compiles a target of CMake's, unless it is there and up to date, and returns its place,
    without a suffix."""
    import pybind11

    places = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    if (cmake := shutil.which("cmake", path=places)) is None or (ninja := shutil.which("ninja", path=places)) is None:
        pytest.skip("skipped: no cmake or no ninja")
    options = [
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
        f"-DCMAKE_MAKE_PROGRAM={ninja}",
    ]
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (["-S", ROOT, "-B", BUILD, "-G", "Ninja", *options], ["--build", BUILD, "--target", target]):
            done = subprocess.run([cmake, *command], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return BUILD / target


class Exported:
    """A numpy array that says by DLPack that it is on the emulated device. `version` is the newest
    DLPack that it knows; one before 1.0 has no flag for read-only arrays."""

    def __init__(self, array: npt.NDArray[Any], version: tuple[int, int] = (1, 0)) -> None:
        self.array, self.version, self.exports = array, version, 0
        self.streams: list[object] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: object = None, **newer: Any) -> object:
        if self.version < (1, 0) and newer:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.exports += 1
        self.streams.append(stream)
        return self.array.__dlpack__(**newer)


class Interface:
    """A numpy array by `__cuda_array_interface__` alone."""

    def __init__(self, array: npt.NDArray[Any], stream: int | None = 1) -> None:
        self.array = array
        known = array.__array_interface__
        self.__cuda_array_interface__ = {name: known[name] for name in ("shape", "typestr", "data", "strides")} | {
            "version": 3,
            "stream": stream,
        }


def host(array: Any) -> npt.NDArray[Any]:
    """Returns the numbers of an array on the emulated device, as a view."""
    if isinstance(array, Exported | Interface):
        return array.array
    told = array.__cuda_array_interface__
    return np.asarray(_Told({name: told[name] for name in ("shape", "typestr", "data", "strides")} | {"version": 3}, array))


class _Told:
    """Numbers of the host, by an interface; keeps their owner."""

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__, self.owner = interface, owner
