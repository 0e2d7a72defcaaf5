"""Instruction sets of the kernels, each truly active in the tests that name it."""

from __future__ import annotations

import pytest

from fedbench.kernels import build_info

SETS = ["portable", "avx2", "avx512"]


def active(name: str) -> str:
    """The name; the test is skipped by it if this machine lacks the set: another one never stands
    in for it."""
    if name not in ("reference", *build_info()["instruction_sets"]):
        pytest.skip(f"{name}: this machine lacks it, or FEDBENCH_ISA forbids it")
    return name


@pytest.fixture(params=SETS)
def isa(request: pytest.FixtureRequest) -> str:
    """An instruction set."""
    return active(str(request.param))


@pytest.fixture(params=["reference", *SETS])
def backend_name(request: pytest.FixtureRequest) -> str:
    """An instruction set, or the numpy sentence."""
    return active(str(request.param))
