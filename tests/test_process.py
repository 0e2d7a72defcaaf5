"""Peak memory; that a parent's does not count is in tests/bench/test_host.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.process import peak_memory_mb


def test_peak_memory_in_mb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _, encoding: "VmPeak:\t  900000 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n")
    assert peak_memory_mb() == 2.0


def test_where_nobody_tells_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda _, encoding: "Name:\tpython\n")
    assert peak_memory_mb() is None

    def nothing_there(_: Path, encoding: str) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", nothing_there)
    assert peak_memory_mb() is None
