"""`fedbench info`."""

from __future__ import annotations

import inspect
import sys
from typing import Annotated, Any

import typer
import yaml

from fedbench import origins, registry
from fedbench.cli import completion
from fedbench.cli.output import print_json, print_table, say, say_text
from fedbench.descriptions import describe_algorithm
from fedbench.errors import UsageError, nearest
from fedbench.options import in_words, search
from fedbench.protocols import Algorithm
from fedbench.scenarios.load import is_named, load
from fedbench.scenarios.load import names as scenario_names

Facts = dict[str, Any]


def describe_task(name: str) -> Facts:
    """Returns what a task is, the models that fit it, and what is missing to load it. All values
    can be written as JSON."""
    from fedbench.tasks.available import missing, models_for

    load_task = registry.find("task", name)
    module = inspect.getmodule(load_task)
    texts = [inspect.cleandoc(text) for text in (load_task.__doc__, module and module.__doc__) if text]
    return {"name": name, "kind": "task", "about": "\n\n".join(texts), "models": models_for(name), "missing": missing(name)}


def command(
    name: Annotated[
        str, typer.Argument(help="An algorithm (or file.py:Class), a scenario, or a task.", autocompletion=completion.things)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show an algorithm, a scenario or a task.

    For an algorithm it prints the equations, the papers, the options with their ranges, and the
    costs. For a scenario it prints all keys. For a task it prints the models that fit it, and
    where its data belong if they are missing.
    """
    if origins.is_in_file(name) or origins.plain(name) in registry.names("algorithm"):
        facts, show = _facts(registry.find("algorithm", name)), _show_algorithm
    elif is_named(name):
        scenario = load(name)
        facts, show = {"kind": "scenario", "hash": scenario.content_hash(), **scenario.resolved()}, _show_scenario
    elif origins.plain(name) in registry.names("task"):
        facts, show = describe_task(origins.plain(name)), _show_task
    else:
        from fedbench.suites.suite import names as suite_names

        if name in suite_names():
            raise UsageError(f"info: {name} is a suite; fedbench suite plan {name} shows what it compares")
        known = [*registry.names("algorithm"), *scenario_names(), *registry.names("task")]
        raise UsageError(f"unknown name {name!r}{nearest(name, known)}")
    if as_json:
        print_json(facts)
    else:
        show(facts)


def _facts(cls: type[Algorithm]) -> Facts:
    """Returns what is known of an algorithm, also which values of an option it declares to be
    tried."""
    facts: Facts = describe_algorithm(cls)
    for one in facts["options"]:
        if values := search(cls, one["name"]):
            one["search"] = in_words(values)
    return facts


def _show_algorithm(facts: Facts) -> None:
    title = f"{facts['name']} ({facts['full_name']})" if facts["full_name"] else facts["name"]
    say_text(f"{title}\n\n{facts['about']}")
    say()
    for source in facts["sources"]:
        say(source["text"])
    say(f"\ndispatch: {facts['dispatch']}")
    say(f"a scenario's rounds: {facts['scenario_rounds']}")
    say(f"traffic of a job: {facts['traffic']}")
    say(f"gradients of a job: {facts['gradient_work']}")
    say(f"work of the server: {facts['server_work']}")
    say(f"memory of the server: {facts['server_memory']}")
    say(f"memory of a client: {'a vector' if facts['clients_remember'] else 'nothing'}")
    say(f"needs of the scenario: {', '.join(facts['requires']) or 'nothing'}\n")
    heads = {
        "name": "name",
        "default": "default",
        "allowed": "allowed",
        "search": "tuned",
        "source": "default from",
        "about": "about",
    }
    columns = [name for name in heads if any(name in one for one in facts["options"])]
    print_table(
        "options", [heads[name] for name in columns], [[str(one.get(name, "")) for name in columns] for one in facts["options"]]
    )
    if facts["presets"]:
        say()
        rows = [
            (
                one["name"],
                yaml.safe_dump(one["options"], default_flow_style=True, width=1000).strip("{}\n"),
                "; ".join(f"{source['short']}, {source['place']}" for source in one["sources"]),
                one["about"],
            )
            for one in facts["presets"]
        ]
        print_table(f"presets: {facts['name']}[preset=NAME]", ("name", "options", "source", "about"), rows)


def _show_scenario(facts: Facts) -> None:
    """Prints the keys as YAML, also where a long line is broken."""
    content = {name: value for name, value in facts.items() if name not in ("kind", "hash")}
    say(yaml.safe_dump(content, sort_keys=False, width=sys.maxsize).rstrip("\n"))
    say(f"hash: {facts['hash']}")


def _show_task(facts: Facts) -> None:
    say_text(f"{facts['name']}\n\n{facts['about']}")
    say(f"\nmodels that fit: {', '.join(facts['models']) or 'known to the package of the task'}")
    say(facts["missing"] or "data: on this machine")
