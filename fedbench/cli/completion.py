"""Words that the shell offers to complete a command line. They come from tables that need no
torch, since a shell must answer at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from fedbench import origins, registry
from fedbench.errors import FedbenchError
from fedbench.options import sentence
from fedbench.presets import covering
from fedbench.scenarios.load import names

PLOTS = ("curves", "profiles", "heat", "staleness", "participation", "timeline", "labels", "sensitivity")
"""The kinds of figures, which stand here since their module imports what draws them."""


def scenarios(incomplete: str) -> list[str]:
    """Returns the names of the library's scenarios that begin so."""
    return _beginning(names(), incomplete)


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


def suites(incomplete: str) -> list[str]:
    """Returns the names of the library's suites that begin so."""
    from fedbench.suites.suite import names as known

    return _beginning(known(), incomplete)


def claims(incomplete: str) -> list[str]:
    """Returns the names of the claims of `theory` that begin so."""
    from fedbench.proof.theory.table import CLAIMS

    return _beginning(CLAIMS, incomplete)


def groups(incomplete: str) -> list[str]:
    """Returns the groups of benchmark cases that begin so."""
    from fedbench.bench import GROUPS

    return _beginning(GROUPS, incomplete)


def cases(incomplete: str) -> list[str]:
    """Returns the benchmark cases and their groups that begin so."""
    from fedbench.bench import CASES, GROUPS

    return _beginning((*CASES, *GROUPS), incomplete)


def plots(incomplete: str) -> list[str]:
    """Returns the kinds of figures that begin so."""
    return _beginning(PLOTS, incomplete)


def _beginning(known: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]


def things(incomplete: str) -> list[tuple[str, str]]:
    """Returns names of algorithms, scenarios and tasks, which are what `info` and `test` take."""
    tasks = [name for name in registry.names("task") if name.startswith(origins.plain(incomplete))]
    return [*algorithms(incomplete), *((name, "") for name in (*scenarios(incomplete), *tasks))]
