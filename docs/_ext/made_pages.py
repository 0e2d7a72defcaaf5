"""Directives that make parts of the reference from the code: verbs of the command line, keys of a scenario, headers of the core.

```{verbs} Run            the verbs of a group, with their arguments and options
```{scenario-keys}        every part of a scenario with its keys, units, ranges and defaults
```{headers}              what the public headers of the core declare
```{exit-codes}           the errors that a user sees, with the exit code of each
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import header_comments
import scenario_keys
from docutils import nodes
from escaping import escaped
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]


class _Made(SphinxDirective):
    """A directive whose content is Markdown that `lines` gives."""

    has_content = False
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        text = "\n".join(self.lines())
        return self.parse_text_to_nodes(text, allow_section_headings=True)

    def lines(self) -> Iterator[str]:
        raise NotImplementedError


class Verbs(_Made):
    """The verbs of a group, which its argument names."""

    def lines(self) -> Iterator[str]:
        from fedbench.cli.verbs import GROUPS, loaded

        for name in GROUPS[self.arguments[0]]:
            yield from self._verb(["fedbench", name], loaded(name), "##")

    def _verb(self, path: list[str], command: Any, level: str) -> Iterator[str]:
        yield f"{level} {' '.join(path[1:])}\n"
        with command.make_context(" ".join(path), [], resilient_parsing=True) as context:
            yield f"{_prose(command.help or '')}\n"
            if hasattr(command, "commands"):
                for name in command.list_commands(context):
                    yield from self._verb([*path, name], command.commands[name], level + "#")
                return
            usage = " ".join(command.collect_usage_pieces(context))
            yield f"```text\n{' '.join(path)} {usage}\n```\n"
            yield from _epilog(command)
            told = [record for parameter in command.get_params(context) if (record := parameter.get_help_record(context))]
            if told:
                yield "| argument or option | what it does |\n|---|---|"
                yield from (f"| `{_cell(names)}` | {_cell(escaped(text))} |" for names, text in told)
                yield ""


class ScenarioKeys(_Made):
    """All parts of a scenario."""

    def lines(self) -> Iterator[str]:
        return scenario_keys.pages()


class Headers(_Made):
    """The public headers of the core."""

    def lines(self) -> Iterator[str]:
        for file in sorted((ROOT / "csrc/include/fedbench").glob("*.hpp")):
            yield from header_comments.page(file)


class ExitCodes(_Made):
    """The errors that a user sees."""

    def lines(self) -> Iterator[str]:
        from fedbench import errors

        yield "| error | exit code | what happened |\n|---|---|---|"
        for name, error in vars(errors).items():
            if inspect.isclass(error) and issubclass(error, errors.FedbenchError):
                said = " ".join((inspect.getdoc(error) or "").split("\n\n")[0].split())
                yield f"| `{name}` | {error.exit_code} | {said} |"


def _epilog(command: Any) -> Iterator[str]:
    """The example below the help of a verb."""
    if command.epilog:
        yield f"```text\n{_unmarked(command.epilog)}\n```\n"


def _prose(text: str) -> str:
    """Help as Markdown: its indented lines are code."""
    return escaped(_unmarked(text))


def _unmarked(text: str) -> str:
    """Help without the marks of lines that a terminal does not fill anew."""
    return inspect.cleandoc(text).replace("\b\n", "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _bars(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """A bar in a docstring is one of an absolute value, not a mark of Sphinx."""
    lines[:] = [re.sub(r"(?<!\\)\|", r"\\|", line) for line in lines]


NAMES = (
    # what unfolds in the sidebar, a table of a notebook that scrolls, and a picture of the gallery
    (r'<summary><span class="toctree-toggle"', r'<summary aria-label="Pages below"><span class="toctree-toggle"'),
    (r'<div class="output text_html">', r'<div class="output text_html" tabindex="0">'),
    (r'(<a class="reference internal" href="plot_\w+\.html")(><span class="doc">([^<]*)</span></a>)', r'\1 aria-label="\3"\2'),
)


def _finished(app: Any, error: Exception | None) -> None:
    """Mends what the theme leaves: its script tells its steps on the console of the browser, maps to its sources are a third of
    all files, and some elements have no names for a screen reader."""
    if error is not None:
        return
    static = Path(app.outdir) / "_static"
    for file in static.rglob("*.map"):
        file.unlink()
    for file in (static / "scripts/pydata-sphinx-theme.js", Path(app.outdir) / "search.html"):
        file.write_text(re.sub(r"console\.(log|info|debug)\(", "void (", file.read_text(encoding="utf-8")), encoding="utf-8")
    for file in Path(app.outdir).rglob("*.html"):
        text = mended = file.read_text(encoding="utf-8")
        for old, new in NAMES:
            mended = re.sub(old, new, mended)
        if mended != text:
            file.write_text(mended, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("verbs", Verbs)
    app.add_directive("scenario-keys", ScenarioKeys)
    app.add_directive("headers", Headers)
    app.add_directive("exit-codes", ExitCodes)
    app.connect("autodoc-process-docstring", _bars)
    app.connect("build-finished", _finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
