"""`fedbench info`."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer
import yaml

from fedbench import origins, registry
from fedbench.cli import completion
from fedbench.cli.output import print_json, print_table, say
from fedbench.descriptions import describe_algorithm
from fedbench.errors import UsageError, nearest
from fedbench.scenarios.load import load
from fedbench.scenarios.load import names as scenario_names


def describe_task(name: str) -> dict[str, Any]:
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
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show an algorithm, a scenario or a task.

    Of an algorithm it shows the equations, source and options; of a scenario, all keys; of a task,
    the models that fit it and what it needs.

    Example: fedbench info fedbuff
    """
    if origins.is_in_file(name) or origins.plain(name) in registry.names("algorithm"):
        facts = describe_algorithm(registry.find("algorithm", name))
        if as_json:
            return print_json(facts)
        say(f"{facts['name']}\n\n{facts['about']}\n")
        for source in facts["sources"]:
            say(source["text"])
        say(f"\ndispatch: {facts['dispatch']}; a scenario's part rounds is {facts['scenario_rounds']}\n")
        say(f"traffic of a job: {facts['traffic']}\ngradients of a job: {facts['gradient_work']}")
        say(f"the server computes: {facts['server_work']}")
        say(f"server memory: {facts['server_memory']}; clients keep {'a vector' if facts['clients_remember'] else 'nothing'}\n")
        if facts["requires"]:
            say(f"requires of the scenario: {', '.join(facts['requires'])}\n")
        columns = ["name", "default", "source", "allowed", "about"]
        print_table(
            "options", [*columns[:2], "default from", *columns[3:]], [[str(o[c]) for c in columns] for o in facts["options"]]
        )
        if facts["presets"]:
            say()
            rows = [
                (
                    one["name"],
                    yaml.safe_dump(one["options"], default_flow_style=True, width=1000).strip("{}\n"),
                    one["about"],
                    "; ".join(f"{s['short']}, {s['place']}" for s in one["sources"]),
                )
                for one in facts["presets"]
            ]
            print_table(f"presets: {facts['name']}[preset=NAME]", ["name", "options", "experiment", "source"], rows)
        return None
    if origins.plain(name) in {n.replace("-", "_") for n in scenario_names()} or name.endswith(".yaml"):
        scenario = load(name)
        if as_json:
            return print_json({"kind": "scenario", "hash": scenario.content_hash(), **scenario.resolved()})
        say(yaml.safe_dump(scenario.resolved(), sort_keys=False, width=120), end="")
        return say(f"hash: {scenario.content_hash()}")
    if origins.plain(name) in registry.names("task"):
        facts = describe_task(origins.plain(name))
        if as_json:
            return print_json(facts)
        say(f"{facts['name']}\n\n{facts['about']}\n")
        say(f"models that fit: {', '.join(facts['models']) or 'the task of another package says it'}")
        return say(facts["missing"] or "data: on this machine")
    known = [*registry.names("algorithm"), *scenario_names(), *registry.names("task")]
    raise UsageError(f"unknown name {name!r}{nearest(name, known)}")
