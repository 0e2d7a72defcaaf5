"""`fedbench cite`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

import fedbench
from fedbench import origins, registry
from fedbench.bibliography import bibtex, entry
from fedbench.cli import completion
from fedbench.cli.output import put
from fedbench.errors import UsageError, nearest
from fedbench.scenarios.data_parts import HELD_OUT
from fedbench.scenarios.load import is_named, load
from fedbench.scenarios.load import names as scenario_names
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.trace_files import CITED as TRACES
from fedbench.suites import suite as suites
from fedbench.tasks.available import CITED as DATA

YEAR = "2026"


def command(
    things: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="THING",
            help="Records, stores, archives, suites, scenarios or algorithms. Default: only fedbench.",
            autocompletion=completion.things,
        ),
    ] = None,
) -> None:
    """Print BibTeX for fedbench and for what was used.

    Prints the papers of the algorithms, data sets and traces, each once. A comment names what has
    no entry.
    """
    found = dict.fromkeys(source for thing in things or () for source in sources(thing))
    put(product())
    for source in found:
        put(f"\n{bibtex(source) if not source.startswith('%') else source}")


def product() -> str:
    """Returns the entry of fedbench itself."""
    fields = {
        "author": "{The fedbench developers}",
        "title": "{fedbench: a benchmark suite for federated optimisation under heterogeneity}",
        "version": fedbench.__version__,
        "year": YEAR,
    }
    return entry("software", "fedbench", fields)


def sources(thing: str) -> Iterator[str]:
    """Yields the keys of the papers of what is named, and comments in the place of those that are
    not known. UsageError for a name that nothing has."""
    if Path(thing).is_dir() or thing.endswith("record.json"):
        yield from _of_records(Path(thing))
    elif thing in suites.names() or (thing.endswith((".yaml", ".yml")) and _is_suite(thing)):
        suite = suites.load(thing)
        yield from _of_algorithms(suite.selectors())
        for point in suite.points:
            yield from _of_scenario(suite.scenario_at(point))
    elif is_named(thing):
        yield from _of_scenario(load(thing))
    elif origins.plain(thing.partition("[")[0]) in registry.names("algorithm"):
        yield from _of_algorithms([thing])
    else:
        near = nearest(thing, [*registry.names("algorithm"), *scenario_names(), *suites.names()])
        raise UsageError(f"cite: no record, suite, scenario or algorithm {thing!r}{near}")


def _is_suite(file: str) -> bool:
    from fedbench import plain_files

    return "points" in plain_files.mapping(Path(file), "suite or scenario")


def _of_records(place: Path) -> Iterator[str]:
    from fedbench.launch.records import records_in

    for record in records_in(place, check=False):
        yield from _of_algorithms([record.spec.algorithm.name])
        yield from _of_scenario(record.spec.scenario)


def _of_algorithms(selectors: Iterable[str]) -> Iterator[str]:
    for selector in selectors:
        name = registry.parse_selector(selector)[0]
        if name not in registry.ALGORITHMS:  # the code of others is not run to be cited
            yield f"% algorithm {name}: it is not built in; cite its authors"
            continue
        source = registry.find("algorithm", name).source
        yield from () if isinstance(source, str) else (one.key for one in source)  # references have no paper


def _of_scenario(scenario: Scenario) -> Iterator[str]:
    """Yields the papers of the data and the traces of a scenario."""
    for task in (scenario.task.name, scenario.public.source if scenario.public else HELD_OUT):
        if task != HELD_OUT:
            yield from DATA.get(task, (f"% data {task}: cite where they are from",))
    for links in scenario.network.links.values():
        if links.folder:
            yield TRACES.get(links.sha256 or "") or f"% traces {links.folder}: cite where they are from"
