"""The verbs of the command line. A verb's module is imported when the verb is used, so that help
and completion come at once."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
import typer.main
from typer.core import TyperGroup

from fedbench.errors import FedbenchError


class Verb(NamedTuple):
    """Where a verb is, as `module:name` below fedbench.cli, and its line in the help."""

    place: str
    about: str


VERBS = {
    "list": Verb("listing:command", "List algorithms, scenarios, tasks or presets."),
    "info": Verb("info:command", "Show what an algorithm, a scenario or a task is."),
    "catalogue": Verb("catalogue:command", "Write a page of all algorithms."),
    "plan": Verb("plan:command", "Play the virtual clock of a run without training."),
    "applicability": Verb("applicability:command", "Say which algorithms run on which scenarios, and why not."),
    "run": Verb("run:command", "Run algorithms on a scenario; store a record of every run."),
    "verify": Verb("verify:command", "Run a record again and say whether the result is the same."),
    "reproduce": Verb("reproduce:command", "Make the tables of the papers again and judge them."),
    "compare": Verb("compare:command", "Say which of two algorithms costs less."),
    "plot": Verb("plot:command", "Draw a figure for a paper as PDF, SVG or PNG."),
    "table": Verb("table:command", "Write a board as LaTeX, Markdown or CSV."),
    "test": Verb("test:command", "Check the contract of an algorithm, a scenario or a task."),
    "theory": Verb("theory:command", "Measure what the papers prove; this takes minutes."),
    "trace": Verb("trace:command", "Write the timeline of a run; open it at ui.perfetto.dev."),
    "cite": Verb("cite:command", "Print the BibTeX of fedbench and of what was used."),
    "conformance": Verb("conformance:command", "Check conformance vectors."),
    "bench": Verb("bench:command", "Measure the core's speed beside other ways of its work."),
    "doctor": Verb("doctor:command", "Look at this machine and this installation."),
    "tune": Verb("suite:tune", "Look for the best options of every algorithm of a suite."),
    "rules": Verb("rules:command", "Print the rules of suites."),
    "submit": Verb("submit:command", "Make a folder of results to hand in."),
    "suite": Verb("suite_results:app", "Designed experiments: scenarios x algorithms x seeds."),
    "leaderboard": Verb("leaderboard:app", "The static leaderboard page."),
    "new": Verb("new:app", "Write the files of something new."),
    "import": Verb("imports:app", "Measurements of others as the files of a scenario."),
}


class Interrupted(FedbenchError):
    """Ctrl-C ended a verb that says nothing of its own about it."""

    exit_code = 130


def made(**more: Any) -> typer.Typer:
    """Returns an empty command line with the settings of all verbs."""
    return typer.Typer(
        rich_markup_mode=None,  # help shows its texts as they stand: markup would take name[param=value,...] for a style
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        **more,
    )


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
    return typer.main.get_group(one).commands[name]


class _Commands(Mapping[str, Any]):
    """The commands by name, each of which is loaded when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in VERBS:
            raise KeyError(name)
        return loaded(name)

    def __contains__(self, name: object) -> bool:
        return name in VERBS

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


class Verbs(TyperGroup):
    """The verbs of the command line, each of which ends with one line after Ctrl-C."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands: Any = _Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of verbs into the help, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.about) for name, verb in VERBS.items()])

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted("interrupted") from None
