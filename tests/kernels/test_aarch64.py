"""The C++ tests on another architecture: compiled for aarch64, run under qemu."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CROSS, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which(CROSS) and shutil.which(EMULATOR) and shutil.which("cmake")), reason=f"no {CROSS}, {EMULATOR} or cmake"
)
def test_all_tests_of_the_core_hold_on_aarch64(tmp_path: Path) -> None:
    configure = ["cmake", "--preset", "aarch64", "-B", str(tmp_path)]
    for command in (configure, ["cmake", "--build", str(tmp_path)]):
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    result = subprocess.run(["ctest", "--output-on-failure"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-3000:]
    assert "100% tests passed" in result.stdout
