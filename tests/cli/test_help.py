"""What `--help` shows is what the code says: nothing in square brackets is lost, and the list of
verbs is whole at 80 columns."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

import fedbench
from fedbench.cli.examples import EXAMPLES
from fedbench.cli.main import app
from fedbench.cli.verbs import GROUPS, commands
from tests.cli.commands import fedbench as typed
from tests.terminal import on_a_terminal

WIDE = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}


def texts(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """(verb, its help texts) of every verb."""
    children = getattr(command, "commands", {})
    for name, child in children.items():
        yield from texts(child, (*path, name))
    options = (getattr(p, "help", "") or "" for p in getattr(command, "params", []))
    yield path, [getattr(command, "help", "") or "", (getattr(command, "epilog", "") or "").removeprefix("\b"), *options]


VERBS = dict(texts(typer.main.get_command(app)))


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--help"], env=WIDE)
    assert result.exit_code == 0, result.output
    return result.output


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_there_are_words_in_brackets_to_lose() -> None:
    found = {word for own in VERBS.values() for text in own for word in re.findall(r"\[[^\]]*\]", text)}
    assert {"[param=value,...]", "[buffer_size=5]"} <= found


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_text_is_shown_whole(verb: tuple[str, ...]) -> None:
    page = squeezed(shown(*verb))
    for text in VERBS[verb]:
        assert squeezed(text) in page


def test_every_verb_has_an_example_with_which_its_help_ends() -> None:
    """And no verb that is not there has one."""
    names = [name for verbs in GROUPS.values() for name in verbs]
    every = [words for name in names for words, _ in commands(typer.main.get_command(app).commands[name], name)]  # type: ignore[attr-defined]
    assert every == list(EXAMPLES)
    for words, example in EXAMPLES.items():
        lines = shown(*words.split()).rstrip("\n").split("\n")
        assert lines[-1].strip() == example.line
        assert "Example" in lines[-2]
        assert sum(line.lstrip().startswith("Example") for line in lines) == 1
        assert max(map(len, lines)) <= 80
        assert [line for line in lines if line.endswith("-")] == [], "no option is broken at a hyphen"
        assert example.after in {"", *EXAMPLES}
    assert shown().rstrip().endswith(EXAMPLES["run"].line)


def test_a_docstring_begins_with_the_line_of_its_verb() -> None:
    for name, verb in (pair for verbs in GROUPS.values() for pair in verbs.items()):
        assert typer.main.get_command(app).commands[name].help.split("\n")[0] == verb.about  # type: ignore[attr-defined]


def test_the_first_lines_are_sentences_that_begin_with_a_verb() -> None:
    """As the lists of verbs show them, whole at 80 columns."""
    for path in VERBS:
        command = typer.main.get_command(app)
        for name in path:
            command = command.commands[name]  # type: ignore[attr-defined]
        first, *more = (command.help or "").split("\n")
        assert re.fullmatch(r"[A-Z][a-z]+ [^.]*(\.[a-z.]+)?[^.]*\.", first), (path, first)
        assert not more or more[0] == ""


def test_options_are_explained_by_sentences() -> None:
    for path, own in VERBS.items():
        for text in own[2:]:
            assert re.match(r"[A-Z]|file\.py|\[", text), (path, text)
            assert text.endswith("."), (path, text)


def test_short_options_mean_the_same_in_every_verb() -> None:
    """-r is the store, and so --store; -p a point. Elsewhere a letter has one word."""
    long: dict[str, set[str]] = {}
    for path in VERBS:
        command = typer.main.get_command(app)
        for name in path:
            command = command.commands[name]  # type: ignore[attr-defined]
        for option in (one.opts for one in command.params if one.param_type_name == "option"):
            for short in (one for one in option if not one.startswith("--")):
                long.setdefault(short, set()).add(next(one for one in reversed(option) if one.startswith("--")))
            assert ("-r" in option) == ("--store" in option), path
    assert long["-r"] == {"--store"}
    assert long["-p"] == {"--point"}
    assert {short: words for short, words in long.items() if len(words) > 1} == {}


@pytest.mark.parametrize("verb", [(), ("leaderboard",), ("new",), ("suite",)], ids=" ".join)
def test_the_list_of_verbs_is_not_cut_off(verb: tuple[str, ...], tmp_path: Path) -> None:
    """On a real terminal: CliRunner gives help two columns more."""
    code, page = on_a_terminal([sys.executable, "-c", "from fedbench.cli.main import main; main()", *verb, "--help"], tmp_path)
    assert code == 0
    verbs = page.partition("Commands:" if verb else "Run:")[2]
    assert verbs
    assert "..." not in verbs


def test_arguments_look_alike() -> None:
    """[CASE]... may be left out and given several times; no folder of the machine that printed it
    is a default."""
    assert "[CASE]..." in shown("bench").splitlines()[0]
    assert "[CLAIM]..." in shown("theory").splitlines()[0]
    assert "[[" not in shown("bench") + shown("theory")
    for verb in VERBS:
        assert str(Path(fedbench.__file__).parent) not in squeezed(shown(*verb))


def test_the_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).output == f"fedbench {fedbench.__version__}\n"


def test_a_missing_verb_shows_the_verbs() -> None:
    found = typed("suite")
    assert found.returncode == 2
    assert "\n  plan " in found.stderr
    assert "\\n" not in found.stderr
