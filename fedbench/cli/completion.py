"""Words that the shell offers to complete a command line. They come from tables that need no
torch, since a shell must answer at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from importlib import import_module

from fedbench import origins, registry
from fedbench.errors import FedbenchError
from fedbench.options import sentence
from fedbench.presets import covering

PLOTS = ("curves", "profiles", "heat", "staleness", "participation", "timeline", "labels", "sensitivity", "design")
"""The kinds of figures, which stand here since their module imports what draws them."""


def _names_in(module: str, *tables: str) -> Callable[[str], list[str]]:
    """Returns the function that completes the names in some tables of a module of fedbench, which
    it imports. A table may be a function without arguments."""

    def names(incomplete: str) -> list[str]:
        found = [getattr(import_module(f"fedbench.{module}"), table) for table in tables]
        return [name for one in found for name in (one() if callable(one) else one) if name.startswith(incomplete)]

    return names


scenarios = _names_in("scenarios.load", "names")
suites = _names_in("suites.suite", "names")
claims = _names_in("proof.theory.table", "CLAIMS")
groups = _names_in("bench", "GROUPS")
cases = _names_in("bench", "CASES", "GROUPS")
plots = _names_in("cli.completion", "PLOTS")


def algorithms(incomplete: str) -> list[tuple[str, str]]:
    """Returns names of algorithms or, behind a bracket, the options of the algorithm before it.

    Each comes with a sentence, which some shells show.
    """
    name, bracket, rest = incomplete.partition("[")
    if not bracket:
        return [(known, "") for known in registry.names("algorithm") if known.startswith(origins.plain(name))]
    given, comma, option = rest.rpartition(",")
    try:
        cls = registry.find("algorithm", name)
    except FedbenchError:
        return []
    before = f"{name}[{given}{comma}"
    if option.startswith("preset="):
        names = [(f"preset={one.name}", one.about) for one in covering(cls.name)]
        return [(before + text, about) for text, about in names if text.startswith(option)]
    fields = [(field.name, sentence(cls, field.name)) for field in dataclasses.fields(cls)]
    fields += [("preset", "Options that a paper reports, by name.")] if covering(cls.name) else []
    return [(f"{before}{known}=", about) for known, about in fields if known.startswith(option)]


def things(incomplete: str) -> list[tuple[str, str]]:
    """Returns names of algorithms, scenarios and tasks, which are what `info` and `test` take."""
    tasks = [name for name in registry.names("task") if name.startswith(origins.plain(incomplete))]
    return [*algorithms(incomplete), *((name, "") for name in (*scenarios(incomplete), *tasks))]
