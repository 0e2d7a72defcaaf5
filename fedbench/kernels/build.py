"""How the compiled extension was built."""

from __future__ import annotations

import importlib.util
from typing import Any, Literal

from fedbench import _core
from fedbench.errors import UsageError


def build_info() -> dict[str, Any]:
    """Returns how the compiled extension was built.

    Returns
    -------
    dict
        The version, the compiler, its flags, NDEBUG, the instruction set in use on this machine,
        and those that `isa` may name. `cuda` has the architectures for which fedbench.kernels.cuda
        was compiled, such as ["sm_80", "sm_90"], or False.

    Raises
    ------
    UsageError
        The environment variable FEDBENCH_ISA names an instruction set that this machine does not
        have.
    """
    try:
        return dict(_core.build_info()) | {"cuda": cuda_architectures()}
    except ValueError as error:
        raise UsageError(str(error)) from None


def cuda_architectures() -> list[str] | Literal[False]:
    """Returns the architectures for which the GPU kernels were compiled; False if they were not
    built."""
    if importlib.util.find_spec("fedbench._cuda") is None:
        return False
    from fedbench import _cuda

    return [f"sm_{number}" for number in _cuda.architectures.split()]
