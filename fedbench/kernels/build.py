"""How the extension was built."""

from __future__ import annotations

from typing import Any

from fedbench import _core


def build_info() -> dict[str, Any]:
    """Version, compiler, flags, NDEBUG, CUDA, the instruction set in use on this machine and those that `isa` may name."""
    return dict(_core.build_info())
