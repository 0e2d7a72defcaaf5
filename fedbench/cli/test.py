"""`fedbench test`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Annotated

import typer

from fedbench import extras, origins, own_models, registry
from fedbench.cli import completion
from fedbench.cli.options import JsonOption
from fedbench.cli.output import print_json, say
from fedbench.errors import UsageError, nearest
from fedbench.metric import Metric
from fedbench.optimizer import Optimizer
from fedbench.proof.findings import Finding
from fedbench.protocols import Algorithm
from fedbench.scenarios.load import is_named
from fedbench.scenarios.load import names as scenario_names

BEFORE = 24  # columns before what a check found


def checks_of(name: str, model: str, task: str) -> tuple[str, Iterator[Finding]]:
    """Returns the kind of the thing that has this name, and an iterator that checks it.

    Args:
        name: The selector of an algorithm, or of code of the user's, the name or file of a
            scenario, or the name of a task.
        model: The model with which a task is tried.
        task: The task with whose examples a model or a metric is tried.

    Raises:
        UsageError: Nothing has the name; the message has the nearest one that is known.
    """
    from fedbench.proof import contract, metrics, optimizers, plugins  # the other verbs start faster without them

    bare = name.partition("[")[0].strip()
    kind = _kind_of_code(bare)
    if kind in ("model", "optimizer"):
        extras.require("torch", f"{kind} {bare}", "torch")
    if kind == "model":
        from fedbench.proof import models

        return kind, models.check(bare, origins.plain(task))
    if kind == "metric":
        return kind, metrics.check(bare, origins.plain(task))
    if kind == "optimizer":
        return kind, optimizers.check(bare)
    if origins.is_in_file(bare) or origins.plain(bare) in registry.names("algorithm"):
        return "algorithm", contract.check(registry.algorithm(name))
    if is_named(bare):
        return "scenario", plugins.check_scenario(name)
    if origins.plain(bare) in registry.names("task"):
        return "task", plugins.check_task(origins.plain(bare), model)
    known = [*registry.names("algorithm"), *scenario_names(), *registry.names("task")]
    raise UsageError(f"unknown name {name!r}{nearest(name, known)}; file.py:Class and a path to a .yaml file work too")


def _kind_of_code(name: str) -> str | None:
    """Returns what code that the user names is; None if it is an algorithm, or no code. Code that
    fails, or is not there, is a model if it is in a package, which algorithms are not named by."""
    if own_models.SELECTOR.fullmatch(name) is None:
        return None
    try:
        found = own_models.named(name).found()
    except UsageError:
        return None if origins.is_in_file(name) else "model"
    bases = {Algorithm: None, Metric: "metric", Optimizer: "optimizer"}
    return next((kind for base, kind in bases.items() if isinstance(found, type) and issubclass(found, base)), "model")


def command(
    name: Annotated[
        str,
        typer.Argument(
            help="Algorithm (name[param=value,...] or file.py:Class), model, metric or optimizer (file.py:Class), scenario (name or "
            ".yaml file), or task.",
            autocompletion=completion.things,
        ),
    ],
    model: Annotated[str, typer.Option(help="Model to try a task with.")] = "softmax",
    task: Annotated[
        str, typer.Option(help="Task whose examples a model or metric is tried with; their values are drawn.")
    ] = "digits",
    as_json: JsonOption = False,
) -> None:
    """Test an algorithm, a model, a metric, an optimizer, a scenario or a task of your own.

    Built-in ones can be tested too. The exit code is 1 if a check fails.
    """
    kind, findings = checks_of(name, model, task)
    broken = 0
    for finding in findings:
        broken += finding.status == "fail"
        if as_json:
            print_json({"name": name, "kind": kind, **dataclasses.asdict(finding)})
        else:
            detail = "the same mistake" if finding.status == "same" else finding.detail
            say(f"{finding.status:<5} {finding.check:<17} {detail}", BEFORE)
    if not as_json:
        verdict = f"{broken} broken" if broken else "the contract is kept"
        say(f"{kind} {name}: {verdict}")
    if broken:
        raise typer.Exit(1)
