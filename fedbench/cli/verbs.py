"""The verbs of the command line. A verb's module is imported when the verb is used, so that help
and completion come at once."""

from __future__ import annotations

import functools
from collections import UserDict
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import typer
import typer.main
from typer.core import TyperGroup

from fedbench.cli.examples import EXAMPLES
from fedbench.errors import FedbenchError


class Verb(NamedTuple):
    """Where a verb is, as `module:name` below fedbench.cli, and its line in the help."""

    place: str
    about: str


GROUPS = {
    "Run": {
        "list": Verb("listing:command", "List algorithms, scenarios, tasks or presets."),
        "info": Verb("info:command", "Show an algorithm, a scenario or a task."),
        "plan": Verb("plan:command", "Simulate the clock of a run without training."),
        "advise": Verb("advise:command", "Say which algorithms to try on a scenario, and how sure that is."),
        "run": Verb("run:command", "Run algorithms on a scenario and record every run."),
        "race": Verb("race:command", "Find the best algorithms for a scenario in so many minutes."),
        "tune": Verb("tune:command", "Tune the options of all algorithms of a suite."),
        "suite": Verb("suite_results:app", "Run experiments over scenarios, algorithms and seeds."),
        "new": Verb("new:app", "Write a template for your own algorithm, model, metric, optimizer or data."),
        "import": Verb("imports:app", "Convert published traces into files for a scenario."),
    },
    "Look at results": {
        "compare": Verb("compare:command", "Compare the costs of two algorithms."),
        "table": Verb("table:command", "Write a results table as LaTeX, Markdown or CSV."),
        "plot": Verb("plot:command", "Draw a figure for a paper as PDF, SVG or PNG."),
        "trace": Verb("trace:command", "Write the timeline of a run for ui.perfetto.dev."),
        "catalogue": Verb("catalogue:command", "Write a page that describes all algorithms."),
        "applicability": Verb("applicability:command", "Show which algorithms run on which scenarios."),
    },
    "Check": {
        "doctor": Verb("doctor:command", "Check your installation."),
        "verify": Verb("verify:command", "Run records again and compare every field."),
        "test": Verb("test:command", "Test an algorithm, a model, a metric, an optimizer, a scenario or a task of your own."),
        "conformance": Verb("conformance:command", "Check the algorithms against conformance vectors."),
        "theory": Verb("theory:command", "Check theorems of the papers by measurement."),
        "reproduce": Verb("reproduce:command", "Repeat experiments of the papers and compare the numbers."),
        "bench": Verb("bench:command", "Measure the speed of the core against other libraries."),
    },
    "Publish": {
        "leaderboard": Verb("leaderboard:app", "Build a leaderboard, or check a submission."),
        "submit": Verb("submit:command", "Make a folder of your results for a submission."),
        "rules": Verb("rules:command", "Print the rules for valid rows and their comparison."),
        "cite": Verb("cite:command", "Print BibTeX for fedbench and for what was used."),
    },
}
VERBS = {name: verb for verbs in GROUPS.values() for name, verb in verbs.items()}


class Interrupted(FedbenchError):
    """Ctrl-C ended a verb that says nothing of its own about it."""

    exit_code = 130


made = functools.partial(
    typer.Typer,
    rich_markup_mode=None,  # help shows its texts as they stand: markup would take name[param=value,...] for a style
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
"""Returns an empty command line with the settings of all verbs."""


@functools.cache
def loaded(name: str) -> Any:
    """Returns the command of a verb, or the group of its commands."""
    module, _, attribute = VERBS[name].place.partition(":")
    given = getattr(import_module(f"fedbench.cli.{module}"), attribute)
    one = made()
    if isinstance(given, typer.Typer):
        one.add_typer(given, name=name)
    else:
        one.command(name)(given)
    found = typer.main.get_group(one).commands[name]
    for words, command in commands(found, name):
        command.epilog = EXAMPLES[words].help
    return found


def commands(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    """Yields a command and all below it, each with the words that are typed for it."""
    yield words, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{words} {name}".strip())


class _Commands(UserDict[str, object]):
    """The commands by name, each of which is loaded when it is looked up."""

    def __getitem__(self, name: str) -> object:
        return loaded(name)


class Verbs(TyperGroup):
    """The verbs of the command line, each of which ends with one line after Ctrl-C."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands: Any = _Commands(dict.fromkeys(VERBS))

    def list_commands(self, ctx: object) -> list[str]:
        return list(VERBS)

    def format_commands(self, ctx: object, formatter: Any) -> None:
        """Writes the verbs into the help by groups, from the table alone."""
        width = max(map(len, VERBS))
        for group, verbs in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), verb.about) for name, verb in verbs.items()])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted("interrupted") from None
