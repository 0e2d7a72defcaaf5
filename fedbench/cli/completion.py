"""What the shell's completion offers: names only, from tables that need no torch."""

from __future__ import annotations

import dataclasses

from fedbench import registry, sources
from fedbench.errors import FedbenchError
from fedbench.options import sentence
from fedbench.scenarios.load import names


def scenarios(incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


def algorithms(incomplete: str) -> list[tuple[str, str]]:
    """Names; behind a bracket, the options of that algorithm, each with its sentence where the shell shows one."""
    name, bracket, rest = incomplete.partition("[")
    if not bracket:
        return [(known, "") for known in registry.names("algorithm") if known.startswith(sources.plain(name))]
    given, comma, option = rest.rpartition(",")
    try:
        cls = registry.find("algorithm", name)
    except FedbenchError:
        return []
    options = [field.name for field in dataclasses.fields(cls) if field.name.startswith(option)]
    return [(f"{name}[{given}{comma}{known}=", sentence(cls, known)) for known in options]


def things(incomplete: str) -> list[tuple[str, str]]:
    """What `info` can show, and `test` check."""
    tasks = [name for name in registry.names("task") if name.startswith(sources.plain(incomplete))]
    return [*algorithms(incomplete), *((name, "") for name in (*scenarios(incomplete), *tasks))]
