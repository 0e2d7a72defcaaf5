"""Presets: the options that papers report for their experiments, by name. They are in presets.yaml,
and `fedbuff[preset=NAME]` uses one."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fedbench import strict_yaml
from fedbench.bibliography import Cited, cited
from fedbench.errors import UsageError, nearest

FILE = Path(__file__).with_suffix(".yaml")


@dataclass(frozen=True)
class Preset:
    """The options of one experiment. `about` describes it, and `algorithms` has the options of each
    algorithm in it."""

    name: str
    about: str
    source: tuple[Cited, ...]
    algorithms: Mapping[str, Mapping[str, object]]


@functools.cache
def presets() -> dict[str, Preset]:
    """Returns all presets by name, in the file's order."""
    rows = strict_yaml.load(FILE.read_text(encoding="utf-8"))["presets"]
    return {name: Preset(name, row["about"], cited(**row["source"]), row["algorithms"]) for name, row in rows.items()}


def covering(algorithm: str) -> list[Preset]:
    """Returns the presets that have options for an algorithm."""
    return [preset for preset in presets().values() if algorithm in preset.algorithms]


def options(name: object, algorithm: str) -> dict[str, object]:
    """Returns the options that a preset has for an algorithm.

    UsageError for an unknown preset, with the nearest name, and for one that does not cover the
    algorithm, with those that do.
    """
    preset = presets().get(str(name))
    if preset is None:
        raise UsageError(f"unknown preset {name!r}{nearest(str(name), presets())}")
    if algorithm not in preset.algorithms:
        others = ", ".join(other.name for other in covering(algorithm)) or "none"
        raise UsageError(
            f"preset {name!r} has no options for {algorithm!r}, only for {', '.join(preset.algorithms)}; "
            f"presets for {algorithm!r}: {others}"
        )
    return dict(preset.algorithms[algorithm])
