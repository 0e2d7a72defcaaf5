"""Where a number comes from: the code, its build and the kind of machine. Names of hosts and users
are left out."""

from __future__ import annotations

import functools
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType

LIBRARIES = ("numpy", "torch", "torchvision", "transformers", "tokenizers", "safetensors")


@functools.cache
def commit() -> tuple[str | None, bool | None]:
    """Returns the commit of the checkout from which the package runs, and whether it has local
    changes. Both are None if the package does not run from a checkout."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None, None
    try:
        head = _git(root, "rev-parse", "HEAD").strip()
        return head, bool(_git(root, "status", "--porcelain", "--untracked-files=no").strip())
    except (OSError, subprocess.CalledProcessError):
        return None, None


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True).stdout


@functools.cache
def library_versions() -> Mapping[str, str]:
    """Returns the versions of those libraries of LIBRARIES that are installed."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return MappingProxyType(found)


@functools.cache
def cpu() -> str:
    """Returns the processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def provenance(build: Mapping[str, object], **more: object) -> dict[str, object]:
    """Returns the section `provenance` of a record.

    Args:
        build: what the compiled extension says about its build, see `fedbench.kernels.build_info`.
        more: entries that the caller adds.
    """
    head, dirty = commit()
    return {
        "version": build["version"],
        "commit": head,
        "dirty": dirty,
        "compiler": build["compiler"],
        "flags": build["flags"],
        "instruction_set": build["instruction_set"],
        "cpu": cpu(),
        "python": platform.python_version(),
        "libraries": dict(library_versions()),
        **more,
    }
