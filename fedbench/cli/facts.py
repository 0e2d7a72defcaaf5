"""What an examination of a machine finds, and the check of its GPU."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Status = Literal["ok", "warning", "problem"]
DRIVER = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True)
class Fact:
    """The result of one check: what was found, whether that is ok, and what to do if it is not."""

    check: str
    value: str
    status: Status = "ok"
    advice: str = ""


def gpu() -> Fact:
    """Looks for a GPU that torch sees, and for the kernels that were compiled for it. It comes
    after the check of torch, and imports nothing."""
    from fedbench.kernels import build  # here, so that one that cannot be imported is a finding

    built = build.cuda_architectures()
    kernels = f"kernels for {', '.join(built)}" if built else "kernels not built"
    torch = sys.modules.get("torch")
    if torch is None:
        return Fact("gpu", f"not looked for without torch, {kernels}")
    if not torch.cuda.is_available():
        value = f"none that torch sees, {kernels}"
        if DRIVER.exists() and torch.version.cuda is None:
            return Fact(
                "gpu", value, "warning", "there is a driver of NVIDIA, and torch is built without CUDA: install one with it"
            )
        return Fact("gpu", value)
    major, minor = torch.cuda.get_device_capability(0)
    value = f"{torch.cuda.get_device_name(0)}, sm_{major}{minor}, {kernels}"
    if not built:
        how = "--config-settings=cmake.define.FEDBENCH_CUDA=ON"
        return Fact(
            "gpu",
            value,
            "warning",
            f"clients train there, the server's step stays on the CPU: to have both there, install again with {how}",
        )
    if 10 * major + minor < min(int(name.removeprefix("sm_")) for name in built):
        how = f"--config-settings=cmake.define.CMAKE_CUDA_ARCHITECTURES={major}{minor}"
        return Fact("gpu", value, "warning", f"the kernels are for newer GPUs: install again with {how}")
    return Fact("gpu", value)
