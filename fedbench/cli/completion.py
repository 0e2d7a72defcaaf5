"""What the shell's completion offers: names only, from tables that need no torch."""

from __future__ import annotations

import dataclasses

from fedbench import registry, sources
from fedbench.errors import FedbenchError
from fedbench.scenarios.load import names


def scenarios(incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


def algorithms(incomplete: str) -> list[str]:
    """Names; behind a bracket, the options of that algorithm."""
    name, bracket, rest = incomplete.partition("[")
    if not bracket:
        return [known for known in registry.names("algorithm") if known.startswith(sources.plain(name))]
    given, comma, option = rest.rpartition(",")
    try:
        options = [field.name for field in dataclasses.fields(registry.find("algorithm", name))]
    except FedbenchError:
        return []
    return [f"{name}[{given}{comma}{known}=" for known in options if known.startswith(option)]


def things(incomplete: str) -> list[str]:
    """What `info` can show, and `test` check."""
    tasks = [name for name in registry.names("task") if name.startswith(sources.plain(incomplete))]
    return [*algorithms(incomplete), *scenarios(incomplete), *tasks]
