"""The process in which is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from fedbench.bench import CASES, host
from fedbench.errors import FedbenchError


def test_a_program_starts_again_once_with_the_allocator_settings() -> None:
    code = (
        "import sys, os\n"
        "from fedbench.bench import host\n"
        "print('start', sys.argv[1:], os.getpid(), flush=True)\n"
        "if host.allocator_settings(): host.start_again()\n"
    )
    environment = {name: value for name, value in os.environ.items() if name not in host.MALLOC}
    command = [sys.executable, "-c", code, "an argument", "-x"]
    text = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300).stdout
    first, second = text.splitlines()
    assert first == second
    assert "['an argument', '-x']" in first


def test_settings_that_are_there_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in host.MALLOC.items():
        monkeypatch.setenv(name, value)
    assert host.allocator_settings() == ""
    monkeypatch.setenv("MALLOC_TOP_PAD_", "1")
    assert host.allocator_settings() == f"MALLOC_TOP_PAD_={host.MALLOC['MALLOC_TOP_PAD_']}"


def test_peak_memory_is_the_fresh_process_s() -> None:
    """This process holds torch and 200 MB more; a plan's process does not."""
    ballast = b"x" * 200_000_000
    assert 20 < host.peak_mb(CASES["plan-stream-1m"]) < 200
    assert len(ballast) == 200_000_000


def test_a_process_that_fails_is_an_error() -> None:
    with pytest.raises(FedbenchError, match=r"nobody: the process that measures memory failed: .*unknown case"):
        host.peak_mb(replace(CASES["plan-stream-1m"], name="nobody"))


def test_threads_of_torch_are_set_when_a_case_needs_it() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        host.set_threads(1, [CASES["plan-stream-1m"]])
        assert torch.get_num_threads() == 2
        host.set_threads(1, [CASES["distill-64x10"]])
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
